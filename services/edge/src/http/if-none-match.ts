// Content that the client has already: the header If-None-Match, and the answer 304 without a body.
import { namesTag } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendBytes } from './pass-bytes.ts';

/** Whether the client named this tag, in quotes, or `*`. */
export function hasAlready({ headers }: FastifyRequest, etag: string): boolean {
  return namesTag(headers['if-none-match'] ?? '', etag);
}

/** @param headers those of the content; 304 keeps the ones that a cache needs */
export function sendNotModified(reply: FastifyReply, headers: Record<string, string>): Promise<void> {
  const kept = ['etag', 'cache-control', 'last-modified', 'x-request-id'];
  const cached = Object.entries(headers).filter(([name]) => kept.includes(name));
  return sendBytes(reply, { status: 304, headers: Object.fromEntries(cached) }, null);
}
