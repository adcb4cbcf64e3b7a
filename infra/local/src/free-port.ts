/**
 * Free TCP ports below the kernel's range for outgoing connections (Linux: 32768 and up). A killed server can always
 * listen on its port again, because no connection takes it in the meantime.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const TRIES_MAX = 50;

/** A port on which nothing listens at `host`; `preferred` if it is free. Throws when none is found. */
export async function freePort(host = '127.0.0.1', preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(host, preferred))) return preferred;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    if (await isFree(host, port)) return port;
  }
  throw new Error(`No free port between ${PORT_MIN} and ${PORT_MAX} in ${TRIES_MAX} tries`);
}

/** Whether a server could listen there now. */
export async function isFree(host: string, port: number): Promise<boolean> {
  return (await listenError(host, port)) === undefined;
}

/** Why no server could listen there now; undefined: one could. */
export async function listenError(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
  server.listen({ host, port, exclusive: true });
  const error = await listening;
  if (error === undefined) {
    const closed = once(server, 'close');
    server.close();
    await closed;
  }
  return error;
}
