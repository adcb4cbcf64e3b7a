// Which headers pass between a client and a server inside a computer. Our keys and cookies never go in. Headers that
// act on the origin, which all computers share with the API (cookies, origin-wide policies), never come out. Reasons:
// docs/decisions/2026-11-21-ports-share-an-origin.md.

/** Headers of one connection. Those named in `Connection` are added, except the ones that frame the message. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Headers that belong to us, or that are set again below. `Referer` may contain a link. */
const NOT_IN = new Set([
  ...HOP_BY_HOP,
  'authorization',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'origin',
  'referer',
  'x-computer-authorization',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-switchyard-csrf',
]);

/**
 * Headers that would affect the whole origin (other computers and the API itself), that a proxy in front of the edge
 * obeys (with `X-Accel-Redirect` nginx serves another location, without our headers), or that are set again below.
 */
const NOT_OUT = new Set([
  ...HOP_BY_HOP,
  'alt-svc',
  'clear-site-data',
  'nel',
  'origin-agent-cluster',
  'public-key-pins',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'x-accel-redirect',
  'x-request-id',
  'x-sendfile',
]);

/**
 * Gives a page from inside an opaque origin: no access to our cookies, storage and service workers, or to other pages.
 */
const SANDBOX =
  'sandbox allow-downloads allow-forms allow-modals allow-pointer-lock allow-popups allow-presentation allow-scripts';

export type HeaderPairs = [name: string, value: string][];

interface ForwardedFrom {
  /** As on the wire: names and values alternating. */
  readonly rawHeaders: readonly string[];
  readonly port: number;
  readonly clientAddress: string;
  /** Host and protocol of the client's request: `api.example.com`, `https`. */
  readonly host: string;
  readonly protocol: string;
  /** The path before that of the server inside, without a trailing slash. */
  readonly prefix: string;
}

/** Headers of the request to the server inside. */
export function headersIn(from: ForwardedFrom): HeaderPairs {
  const given = pairs(from.rawHeaders);
  const one = (name: string) => given.find(([key]) => key.toLowerCase() === name)?.[1];
  const authorization = one('x-computer-authorization');
  const before = one('x-forwarded-for');
  const self = `localhost:${from.port}`;
  return [
    ['Host', self],
    ...passing(given, NOT_IN),
    ...(authorization === undefined ? [] : [['Authorization', authorization] as [string, string]]),
    // Development servers accept WebSockets only from their own pages; access was checked before.
    ...(one('origin') === undefined ? [] : [['Origin', `http://${self}`] as [string, string]]),
    ['X-Forwarded-For', before === undefined ? from.clientAddress : `${before}, ${from.clientAddress}`],
    ['X-Forwarded-Host', from.host],
    ['X-Forwarded-Proto', from.protocol],
    ['X-Forwarded-Prefix', from.prefix],
  ];
}

export interface AnsweredFrom {
  readonly rawHeaders: readonly string[];
  readonly port: number;
  readonly prefix: string;
  readonly requestId: string;
  /** Allows every origin: a page from inside has none, and access depends on the address alone. */
  readonly anyOrigin: boolean;
}

/** Headers of the answer to the client. */
export function headersOut({ rawHeaders, port, prefix, requestId, anyOrigin }: AnsweredFrom): HeaderPairs {
  const given = passing(pairs(rawHeaders), NOT_OUT).filter(
    ([name]) => !(anyOrigin && name.toLowerCase().startsWith('access-control-')),
  );
  return [
    ...given.map(([name, value]): [string, string] =>
      name.toLowerCase() === 'location' ? [name, locationOut(value, port, prefix)] : [name, value],
    ),
    ['Content-Security-Policy', SANDBOX],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Request-Id', requestId],
    ...(anyOrigin ? ANY_ORIGIN : []),
  ];
}

export const ANY_ORIGIN: HeaderPairs = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', '*'],
  ['Cross-Origin-Resource-Policy', 'cross-origin'],
];

/** Rewrites a server's redirect to itself to its outside address, unless the server knows its prefix. */
function locationOut(location: string, port: number, prefix: string): string {
  const own = new RegExp(`^https?://(localhost|127\\.0\\.0\\.1|\\[::1\\]):${port}(?=/|$)`);
  const path = location.replace(own, '');
  if (path.startsWith(prefix) && /^([/?#]|$)/.test(path.slice(prefix.length))) return path;
  return path !== location || /^\/(?!\/)/.test(path) ? `${prefix}${path === '' ? '/' : path}` : location;
}

function passing(given: HeaderPairs, not: ReadonlySet<string>): HeaderPairs {
  const named = given
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((name) => name.trim())
    .filter((name) => name !== 'content-length');
  return given.filter(([name]) => !not.has(name.toLowerCase()) && !named.includes(name.toLowerCase()));
}

function pairs(rawHeaders: readonly string[]): HeaderPairs {
  const all: HeaderPairs = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    all.push([rawHeaders[at] as string, rawHeaders[at + 1] as string]);
  return all;
}
