// Passes bytes from the bus to an HTTP client, at the client's pace, or tells it that it has them already.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { namesTag } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';

interface AnswerHead {
  status: number;
  headers: Record<string, string>;
}

/** Answers with bytes. @param body null: only the head. @param signal as in `pass`. @throws as `pass` */
export async function sendBytes(
  reply: FastifyReply,
  { status, headers }: AnswerHead,
  body: AsyncIterable<Buffer> | null,
  signal?: AbortSignal,
): Promise<void> {
  const begin = () => {
    reply.hijack();
    reply.raw.writeHead(status, headers);
  };
  if (body) return pass(body, reply, begin, signal);
  begin();
  reply.raw.end();
}

/** Whether `If-None-Match` names this tag, in quotes, or `*`. */
export function hasAlready({ headers }: FastifyRequest, etag: string): boolean {
  return namesTag(headers['if-none-match'] ?? '', etag);
}

/** Answers 304, without a body. @param headers those of the content; 304 keeps the ones that a cache needs */
export function sendNotModified(reply: FastifyReply, headers: Record<string, string>): Promise<void> {
  const kept = ['etag', 'cache-control', 'last-modified', 'x-request-id'];
  const cached = Object.entries(headers).filter(([name]) => kept.includes(name));
  return sendBytes(reply, { status: 304, headers: Object.fromEntries(cached) }, null);
}

/**
 * @param begin hijacks the answer and sends its head; called with the first bytes, so that an earlier error is an error
 *   answer
 * @param signal cuts off a begun answer at once, also while its client reads nothing
 * @throws errors of the body before its first bytes; later the connection is cut off, so that a part never looks whole
 */
export async function pass(
  body: AsyncIterable<Buffer>,
  { raw }: FastifyReply,
  begin: () => void,
  signal?: AbortSignal,
): Promise<void> {
  const cut = () => void (raw.headersSent && raw.destroy());
  signal?.addEventListener('abort', cut, { once: true });
  try {
    for await (const piece of body) {
      if (!raw.headersSent) begin(); // not earlier: until now an error is an error answer
      if (!raw.write(piece)) await drained(raw);
    }
    if (!raw.headersSent) begin();
    raw.end();
  } catch (error) {
    if (!raw.headersSent) throw error;
    raw.destroy();
  } finally {
    signal?.removeEventListener('abort', cut);
  }
}

/** Resolves when the client has read what was written, or has disconnected. */
export async function drained(raw: ServerResponse): Promise<void> {
  const done = new AbortController();
  try {
    if (raw.destroyed) return;
    const { signal } = done;
    await Promise.race([once(raw, 'drain', { signal }), once(raw, 'close', { signal })]);
  } finally {
    done.abort();
  }
}
