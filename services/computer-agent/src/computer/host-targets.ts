// What a computer must not reach, standing on this machine for real: servers on every address of the host, and a network
// behind it with a metadata service, as clouds have one. For tests; needs root.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

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

export interface NetworkBehind {
  readonly port: number;
  readonly addresses: readonly string[];
  close(): Promise<void>;
}

/** A machine behind the host, in a network name space, with a web server on each of the addresses. */
export async function networkBehind(addresses: readonly string[]): Promise<NetworkBehind> {
  const id = randomBytes(3).toString('hex');
  const [space, near, far] = [`behind-${id}`, `bh${id}a`, `bh${id}b`];
  const port = 8_080;
  const ip = (...args: string[]) => run('ip', args);
  let server: ChildProcess | undefined;
  const close = async () => {
    server?.kill('SIGKILL');
    await ip('netns', 'del', space).catch(() => {}); // the pair goes with it
    await ip('link', 'del', near).catch(() => {});
  };
  try {
    await ip('netns', 'add', space);
    await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far);
    await ip('link', 'set', far, 'netns', space);
    await ip('addr', 'add', '198.18.255.253/30', 'dev', near);
    await ip('link', 'set', near, 'up');
    const inside = (...args: string[]) => run('ip', ['netns', 'exec', space, 'ip', ...args]);
    await inside('addr', 'add', '198.18.255.254/30', 'dev', far);
    await inside('link', 'set', far, 'up');
    await inside('link', 'set', 'lo', 'up');
    await inside('route', 'add', 'default', 'via', '198.18.255.253');
    for (const address of addresses) {
      await inside('addr', 'add', `${address}/32`, 'dev', 'lo');
      await ip('route', 'add', `${address}/32`, 'via', '198.18.255.254');
    }
    const program = `require('node:http').createServer((_, answer) => answer.end('of the network behind')).listen(${port}, '0.0.0.0', () => console.log('up'))`;
    server = spawn('ip', ['netns', 'exec', space, process.execPath, '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(server.stdout!, 'data');
  } catch (error) {
    await close();
    throw error;
  }
  return { port, addresses, close };
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
