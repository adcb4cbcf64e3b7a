// The path of a request to a port of a computer, and the answers that follow from it alone.
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ANY_ORIGIN } from './port-headers.ts';

/** A request URL to a port or link, up to the slash before the path of the server inside; then that path. */
const PATH_INSIDE = /^((?:https?:\/\/[^/?]*)?\/v1\/(?:computers\/[^/?]+\/ports|links)\/[^/?]+\/)[^?]*/;

/** Leaves the path of the server inside out of the routing, which refuses invalid UTF-8, such as `%E9`. */
export function routedUrl({ url = '/' }: IncomingMessage): string {
  return url.replace(PATH_INSIDE, '$1');
}

/** The request target; for an absolute URL, which proxy clients send, the part after the host. */
export function targetOf({ originalUrl }: FastifyRequest): string {
  return originalUrl.replace(/^https?:\/\/[^/?]*/i, '');
}

/** Splits the path without decoding it. `slash`: whether the server's own path begins with a slash. */
export function cutPath(url: string, segments: number): { prefix: string; path: string; slash: boolean } {
  const match = new RegExp(`^((?:/[^/?]*){${segments}})(.*)$`).exec(url);
  const [, prefix = '', path = ''] = match ?? [];
  const slash = path.startsWith('/');
  return { prefix, path: slash ? path : `/${path}`, slash };
}

/**
 * A page's relative addresses lead to its own server only below the slash. A request with a body is not redirected, to
 * avoid sending it twice, and WebSocket clients follow no redirects: both go to the server's root as if the slash were
 * there.
 */
export function redirectToSlash(request: FastifyRequest, reply: FastifyReply, anyOrigin: boolean): void {
  const [path = '', ...query] = targetOf(request).split('?');
  const last = path.slice(path.lastIndexOf('/') + 1);
  reply
    .code(308)
    .headers(anyOrigin ? Object.fromEntries(ANY_ORIGIN) : {})
    .header('location', [`${last}/`, ...query].join('?')) // relative, so any proxy in front of the edge still works
    .header('x-request-id', request.id)
    .send();
}

export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Answers for the server inside, which does not know that its page has an opaque origin. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
  const wanted = request.headers['access-control-request-headers'];
  reply
    .code(204)
    .headers(Object.fromEntries(ANY_ORIGIN))
    .header('access-control-allow-methods', '*')
    .header('access-control-allow-headers', wanted ?? '*')
    .header('access-control-max-age', '600')
    .header('x-request-id', request.id)
    .send();
}
