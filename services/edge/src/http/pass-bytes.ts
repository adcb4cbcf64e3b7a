// Passes bytes that come from the bus on to an HTTP client, at the client's pace.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '@switchyard/service';
import type { FastifyReply } from 'fastify';
import { STALLED_CLIENT_MS_MAX } from './limits.ts';

/**
 * @param begin takes the answer over and sends its head; called with the first bytes, so that until then an error is an
 *   answer of its own
 * @throws what the body throws before its first bytes; after them the connection is cut, so that no part passes for all
 */
export async function pass(
  body: AsyncIterable<Buffer>,
  { raw }: FastifyReply,
  clock: Clock,
  begin: () => void,
): Promise<void> {
  try {
    for await (const piece of body) {
      if (!raw.headersSent) begin(); // not before: until then an error is an answer of its own
      if (!raw.write(piece)) await drained(raw, clock);
    }
    if (!raw.headersSent) begin();
    raw.end();
  } catch (error) {
    if (!raw.headersSent) throw error;
    raw.destroy();
  }
}

/** Resolves when the client has taken what was written; one that takes nothing for too long is cut off. */
export async function drained(raw: ServerResponse, clock: Clock): Promise<void> {
  const done = new AbortController();
  const stopClock = clock.after(STALLED_CLIENT_MS_MAX, () => raw.destroy());
  try {
    if (raw.destroyed) return;
    const { signal } = done;
    await Promise.race([once(raw, 'drain', { signal }), once(raw, 'close', { signal })]);
  } finally {
    stopClock();
    done.abort();
  }
}
