// The Host header, which becomes the origin of addresses in answers. Node accepts any text, and several headers.
import type { IncomingMessage } from 'node:http';

/** A name or an IPv4 address, or an IPv6 address in brackets; with or without a port. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** RFC 9112, section 3.2: one valid header. Only HTTP/1.0 has requests without; Node refuses others. */
export function hasValidHost({ headers: { host }, rawHeaders }: IncomingMessage): boolean {
  if (host === undefined) return true;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at] as string)) count += 1;
  return count === 1 && HOST.test(host) && URL.canParse(`http://${host}`);
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}
