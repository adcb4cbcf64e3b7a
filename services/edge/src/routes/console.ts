// The console: one page for all of its addresses, and the files that it loads. `services/console` builds them.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageHeaders } from '../http/page-headers.ts';
import { pageRoute, type Route } from '../http/route.ts';

const CONSOLE_FOLDER = join(import.meta.dirname, '../../../console/dist');

const NONCE_BYTES = 16;
const NONCE_PLACE = /__CSP_NONCE__/g;
const YEAR_S = 31_536_000;
const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Only scripts and styles with the nonce of this answer, and what these scripts load, are run: ports of computers serve
 * files at this origin too, so `'self'` is not enough for them.
 */
const sources = (nonce: string) =>
  [
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "worker-src 'none'",
  ].join('; ');

/** @param folder the built console; without it the addresses answer 404 and say what to do */
export function consoleRoutes(folder = CONSOLE_FOLDER): Route[] {
  const index = join(folder, 'index.html');
  const html = existsSync(index) ? readFileSync(index, 'utf8') : null;
  const assets = html === null ? new Map<string, Buffer>() : readAll(join(folder, 'assets'));
  const page: Parameters<typeof pageRoute>[1] = (request, reply) => sendPage(html, request, reply);
  return [
    pageRoute('/', page),
    pageRoute('/sign-in', page),
    pageRoute('/console/{path}', page, { restParam: 'path', restOptional: true }),
    pageRoute('/assets/{file}', (request, reply) => sendAsset(assets, request, reply)),
  ];
}

function sendPage(html: string | null, request: FastifyRequest, reply: FastifyReply): void {
  const { accept = '' } = request.headers;
  if (accept.includes('application/json') && !accept.includes('text/html'))
    throw new ServiceError('route_not_found', 'This is a page for browsers. See /docs for the API.');
  if (html === null) throw new ServiceError('route_not_found', 'The console is not built. Run npm start.');
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  reply.headers(pageHeaders(sources(nonce))).send(html.replace(NONCE_PLACE, nonce));
}

/** Loads all files, a few MB: a new build may replace the folder while this edge runs. */
function readAll(folder: string): Map<string, Buffer> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

/** The name of a file changes with its content. */
function sendAsset(assets: ReadonlyMap<string, Buffer>, request: FastifyRequest, reply: FastifyReply): void {
  const { file } = request.params as { file: string };
  const type = TYPES[extname(file)];
  const plain = assets.get(file);
  if (type === undefined || plain === undefined)
    throw new ServiceError('route_not_found', `No file /assets/${file}.`);
  const wantsBrotli = /\bbr\b/.test(String(request.headers['accept-encoding']));
  const compressed = wantsBrotli ? assets.get(`${file}.br`) : undefined;
  reply
    .headers({
      'content-type': type,
      'cache-control': `public, max-age=${YEAR_S}, immutable`,
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
      ...(compressed ? { 'content-encoding': 'br' } : {}),
    })
    .send(compressed ?? plain);
}
