/**
 * Ports for test servers. A free port must not be found by two tests before a server listens on it: a file never gets
 * the same port twice, and files that run at the same time use disjoint ports.
 */
import { freePort } from '@switchyard/local';

/** More than the number of files that run at once. */
const WORKERS_MAX = 8;
const givenOut = new Set<number>();

export async function ownPort(host?: string): Promise<number> {
  const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS_MAX;
  for (;;) {
    const port = await freePort(host);
    if (port % WORKERS_MAX !== worker || givenOut.has(port)) continue;
    givenOut.add(port);
    return port;
  }
}
