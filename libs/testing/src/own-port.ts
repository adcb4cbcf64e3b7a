/**
 * Ports for the servers of tests. Between the moment that a port is found free and the one that a server listens there,
 * nobody else may find it free too: no port is given out twice in one file, and files that run at once have no port in common.
 */
import { freePort } from '@switchyard/local';

/** More than there are files at once. */
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
