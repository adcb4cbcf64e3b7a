// What a computer must not reach on the host itself: real servers on every address of this machine. For tests. What is
// behind the host is in network-behind.ts.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface HostServer {
  readonly port: number;
  /** Who has connected, or sent something, since it stands. */
  readonly callers: string[];
  close(): Promise<void>;
}

/** All addresses of the host, those of bridges included, but its loopback's. */
export function hostAddresses(family: 'IPv4' | 'IPv6'): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter((one) => one.family === family && !one.internal)
      .map(({ address }) => (address.startsWith('fe80:') ? `${address}%${name}` : address)),
  );
}

/** Passes on what comes on any address of the host to a server that listens on its loopback only. */
export async function exposeEverywhere(loopbackPort: number): Promise<HostServer> {
  const callers: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    callers.push(`${socket.remoteAddress} -> ${socket.localAddress}`);
    const target = connect(loopbackPort, '127.0.0.1');
    for (const one of [socket, target]) {
      open.add(one);
      one.on('error', () => {}).on('close', () => open.delete(one));
    }
    socket.pipe(target).pipe(socket);
  });
  server.listen({ port: 0, host: '::', ipv6Only: false });
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    callers,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Takes datagrams on any address of the host. */
export async function listenForDatagrams(): Promise<HostServer> {
  const callers: string[] = [];
  const socket = createSocket({ type: 'udp6', ipv6Only: false });
  socket.on('message', (_, from) => callers.push(from.address));
  socket.bind(0, '::');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    callers,
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** What is there answers the host before this, however busy this machine is. */
const REACH_MS_MAX = 20_000;

/** Whether a connection from the host itself comes about: what a computer is refused must be there. */
export async function hostReaches(address: string, port: number): Promise<boolean> {
  const socket = connect({ host: address, port, timeout: REACH_MS_MAX });
  try {
    return await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'timeout').then(() => false),
    ]);
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
