// For tests: servers on every address of this machine that a computer must not reach. network-behind.ts has those
// behind the host.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface HostServer {
  readonly port: number;
  /** Peers that have connected or sent a datagram since the start. */
  readonly callers: string[];
  close(): Promise<void>;
}

/** All addresses of the host, including bridges, except loopback. */
export function hostAddresses(family: 'IPv4' | 'IPv6'): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter((one) => one.family === family && !one.internal)
      .map(({ address }) => (address.startsWith('fe80:') ? `${address}%${name}` : address)),
  );
}

/** Forwards connections on every address of the host to a server that listens on loopback only. */
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

/** Receives datagrams on every address of the host. */
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

/** A reachable server answers the host within this time, even on a busy machine. */
const REACH_MS_MAX = 20_000;

/** Whether the host itself can connect. Proves that a target refused to computers exists. */
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
