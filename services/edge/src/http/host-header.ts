// The Host header, and the origin at which clients reach the API. Node accepts any text, and several headers.
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

/** A name or an IPv4 address, or an IPv6 address in brackets; with or without a port. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** RFC 9112, section 3.2: one valid header. Only HTTP/1.0 requests may lack it; Node refuses others. */
export function hasValidHost({ headers: { host }, rawHeaders }: IncomingMessage): boolean {
  if (host === undefined) return true;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at] as string)) count += 1;
  return count === 1 && HOST.test(host) && URL.canParse(`http://${host}`);
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

/**
 * The origin of addresses in answers, without a trailing slash.
 * @param publicUrl the setting; undefined: use the origin of the request
 */
export function publicOrigin(publicUrl: string | undefined, request: FastifyRequest): string {
  return publicUrl?.replace(/\/$/, '') ?? `${request.protocol}://${request.host}`;
}
