// One builder at a time on this machine; the others wait and report its progress.
//
// The lock is a listening socket in Linux's abstract name space. The kernel frees it when its process ends, so there is
// no stale lock. Waiting processes connect to it and read one line of progress at a time; when the connection ends,
// they try to take the lock.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type Docker from 'dockerode';

interface BuildLockOptions {
  /** Builders with the same name exclude each other. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Receives the progress of another builder. */
  readonly onProgress: (message: string) => void;
}

/** Builders of the same engine exclude each other. */
export async function buildLockName(docker: Docker): Promise<string> {
  const { ID } = (await docker.info()) as { ID: string };
  return createHash('sha256').update(ID).digest('hex').slice(0, 16);
}

/**
 * Runs `work` while holding the lock. After each wait for another builder it calls `isDone`; if that returns true, it
 * skips `work`.
 */
export async function withBuildLock(
  { name, signal, onProgress }: BuildLockOptions,
  isDone: () => Promise<boolean>,
  work: (tell: (message: string) => void) => Promise<void>,
): Promise<void> {
  const address = `\0switchyard-build-${name}`;
  for (;;) {
    signal.throwIfAborted();
    const server = await tryListen(address);
    if (!server) {
      await followBuilder(address, signal, onProgress);
      continue;
    }
    const listeners = new Set<Socket>();
    let latest = '';
    server.on('connection', (socket) => {
      listeners.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => listeners.delete(socket));
      if (latest) socket.write(`${latest}\n`);
    });
    try {
      if (await isDone()) return;
      await work((message) => {
        latest = message.replaceAll('\n', ' ');
        for (const socket of listeners) socket.write(`${latest}\n`);
      });
      return;
    } finally {
      server.close();
      for (const socket of listeners) socket.destroy();
    }
  }
}

/** Undefined if another process has the lock. */
async function tryListen(address: string): Promise<Server | undefined> {
  const server = createServer();
  server.listen(address);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

async function followBuilder(
  address: string,
  signal: AbortSignal,
  onProgress: (message: string) => void,
): Promise<void> {
  const socket = connect(address);
  const closed = Promise.withResolvers<void>();
  socket.on('close', () => closed.resolve());
  socket.on('error', () => {}); // the builder has just ended: 'close' follows
  const lines = createInterface({ input: socket });
  lines.on('line', onProgress);
  lines.on('error', () => {}); // it passes on the socket's
  const stop = () => socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await closed.promise;
  signal.removeEventListener('abort', stop);
}
