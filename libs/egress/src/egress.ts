// Requests to URLs that callers name. Each hop is parsed, resolved, checked and connected to separately; the deadline and
// the byte limit cover all hops.
import type { IncomingMessage } from 'node:http';
import { type Clock, systemClock } from '@switchyard/service';
import { type AllowList, EMPTY_ALLOW_LIST } from './allow-list.ts';
import { type Exchange, exchange } from './exchange.ts';
import { fetchFailed, urlNotAllowed } from './failures.ts';
import { ACCEPT_ENCODING, announcedLength, limitedBody } from './limited-body.ts';
import { createLookup, type Lookup } from './lookup.ts';
import { type ResolveDeps, resolve } from './resolve.ts';
import { readTarget, type Target } from './target.ts';

export interface EgressOptions {
  /** Targets allowed in addition to public addresses; default none. */
  allow?: AllowList;
  /** Public addresses, in canonical spelling, that are refused anyway, for example this host's own. */
  refused?: ReadonlySet<string>;
  lookup?: Lookup;
  /** Certificates (PEM) trusted in place of the system's. */
  ca?: readonly string[];
  clock?: Clock;
}

interface EgressRequest {
  /** The caller's parameter that held the URL: errors name it. Default `url`. */
  param?: string;
  /** Default `GET`. */
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | string;
  /** Bytes of the decoded answer at most; default `BYTES_MAX_DEFAULT`. */
  bytesMax?: number;
  /** From the first lookup to the last byte; default `TIMEOUT_MS_DEFAULT`. */
  timeoutMs?: number;
  /** Maximum redirects; 0: a redirect is returned as the answer. Default `REDIRECTS_MAX_DEFAULT`. */
  redirectsMax?: number;
  signal?: AbortSignal;
}

export interface EgressResponse {
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The most bytes that reading the body can yield: the announced length or, if less, the request's limit. */
  readonly bytesMax: number;
  /** Decoded; to be read once. Its iteration throws as `fetch` does. */
  readonly body: AsyncIterable<Buffer>;
  /** The whole body. */
  bytes(): Promise<Buffer>;
  /** Closes the connection and drops unread bytes. */
  close(): void;
}

export interface Egress {
  /**
   * @returns any answer, whatever its status.
   * @throws ServiceError `url_not_allowed`, `url_fetch_failed` (`details.reason`), naming `param`; the signal's reason.
   */
  fetch(url: string, request?: EgressRequest): Promise<EgressResponse>;
  /**
   * Checks whether a URL could be fetched, without connecting: for URLs that are stored for later.
   * @throws as `fetch`.
   */
  check(url: string, request?: Pick<EgressRequest, 'param' | 'timeoutMs' | 'signal'>): Promise<void>;
}

const TIMEOUT_MS_DEFAULT = 30_000;
const BYTES_MAX_DEFAULT = 16 * 1024 * 1024;
const REDIRECTS_MAX_DEFAULT = 5;

/** Headers that identify the caller to one host and must not reach another. */
const FOR_ONE_HOST = new Set(['authorization', 'cookie', 'proxy-authorization']);

export function createEgress(options: EgressOptions = {}): Egress {
  const {
    allow = EMPTY_ALLOW_LIST,
    refused = new Set(),
    lookup = createLookup(),
    ca,
    clock = systemClock,
  } = options;
  const resolving: ResolveDeps = { allow, refused, lookup };
  return {
    async fetch(url, request = {}) {
      const trip = startTrip(request, clock);
      try {
        return await follow({ resolving, ca }, readTarget(url, trip.param), request, trip);
      } catch (error) {
        trip.end();
        throw error;
      }
    },
    async check(url, request = {}) {
      const trip = startTrip(request, clock);
      try {
        await reached(trip, resolve(resolving, readTarget(url, trip.param), trip.param));
      } finally {
        trip.end();
      }
    },
  };
}

/** One request, over all its redirects. */
interface Trip {
  readonly param: string;
  readonly signal: AbortSignal;
  /** Stops the deadline timer. */
  end(): void;
}

function startTrip(
  { param = 'url', timeoutMs = TIMEOUT_MS_DEFAULT, signal }: EgressRequest,
  clock: Clock,
): Trip {
  signal?.throwIfAborted();
  const deadline = new AbortController();
  const end = clock.after(timeoutMs, () =>
    deadline.abort(
      fetchFailed(
        param,
        'timeout',
        `the content did not arrive within ${timeoutMs / 1_000} s. Use a faster server.`,
      ),
    ),
  );
  return {
    param,
    signal: signal ? AbortSignal.any([deadline.signal, signal]) : deadline.signal,
    end,
  };
}

async function follow(
  { resolving, ca }: { resolving: ResolveDeps; ca: readonly string[] | undefined },
  first: Target,
  request: EgressRequest,
  trip: Trip,
): Promise<EgressResponse> {
  const redirectsMax = request.redirectsMax ?? REDIRECTS_MAX_DEFAULT;
  let target = first;
  let sent = firstExchange(request);
  for (let redirects = 0; ; redirects += 1) {
    const addresses = await reached(trip, resolve(resolving, target, trip.param));
    const answer = await exchange(target, sent, { ...trip, addresses, ca });
    const location = redirectOf(answer);
    if (location === null || redirectsMax === 0) return respond(answer, target, request, trip);
    answer.destroy();
    if (redirects >= redirectsMax)
      throw fetchFailed(trip.param, 'redirects', `more than ${redirectsMax} redirects. Use the final URL.`);
    const next = nextTarget(location, target, trip.param);
    sent = nextExchange(sent, answer.statusCode ?? 0, next.url.origin === target.url.origin);
    target = next;
  }
}

function firstExchange({ method = 'GET', headers = {}, body }: EgressRequest): Exchange {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    method,
    headers: { 'accept-encoding': ACCEPT_ENCODING, 'user-agent': 'switchyard', ...Object.fromEntries(lower) },
    body: body === undefined ? null : Buffer.from(body),
  };
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | null {
  return [301, 302, 303, 307, 308].includes(statusCode) ? (headers.location ?? null) : null;
}

function nextTarget(location: string, from: Target, param: string): Target {
  if (!URL.canParse(location, from.url.href))
    throw fetchFailed(param, 'redirects', 'a redirect has no valid URL. Use the final URL.');
  const next = readTarget(new URL(location, from.url).href, param);
  if (from.url.protocol === 'https:' && next.url.protocol === 'http:')
    throw urlNotAllowed(param, 'a redirect leads from https to http. Use the final URL.');
  return next;
}

/** The request after a redirect, as in browsers: 307 and 308 repeat the request, others become GET. */
function nextExchange({ method, headers, body }: Exchange, status: number, sameOrigin: boolean): Exchange {
  const kept = Object.entries(headers).filter(([name]) => sameOrigin || !FOR_ONE_HOST.has(name));
  if (status === 307 || status === 308 || method === 'GET')
    return { method, headers: Object.fromEntries(kept), body };
  const bodyless = kept.filter(([name]) => !name.startsWith('content-'));
  return { method: 'GET', headers: Object.fromEntries(bodyless), body: null };
}

function respond(
  answer: IncomingMessage,
  target: Target,
  { bytesMax = BYTES_MAX_DEFAULT }: EgressRequest,
  trip: Trip,
): EgressResponse {
  answer.once('close', trip.end);
  const { param, signal } = trip;
  const body = limitedBody(answer, { param, bytesMax, signal });
  return {
    url: target.url.href,
    status: answer.statusCode ?? 0,
    headers: singleHeaders(answer),
    bytesMax: Math.min(announcedLength(answer) ?? bytesMax, bytesMax),
    body,
    bytes: async () => Buffer.concat(await Array.fromAsync(body)),
    close: () => void answer.destroy(),
  };
}

function singleHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

/** Work that cannot be cancelled is abandoned when the trip ends. */
function reached<T>({ signal }: Trip, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
