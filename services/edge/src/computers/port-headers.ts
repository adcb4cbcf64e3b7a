// Which headers pass between a client and a server inside a computer. Nothing of ours goes in (keys, cookies), and nothing
// comes out that would act on the address which all computers share with the API (cookies, policies of a whole origin).
// Why: docs/decisions/2026-11-21-ports-share-an-origin.md.

/** Of one connection only; those that `Connection` names come on top, but for the one that says where a message ends. */
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

/** Ours, or said anew. `Referer` may hold a link. */
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
]);

/** They would speak for the whole origin: other computers, and the API itself. */
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
]);

/** A page from inside has an origin of its own: no cookies, storage or service workers of ours, and no other page's. */
export const SANDBOX =
  'sandbox allow-downloads allow-forms allow-modals allow-pointer-lock allow-popups allow-presentation allow-scripts';

export type HeaderPairs = [name: string, value: string][];

export interface ForwardedFrom {
  /** As on the wire: names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly port: number;
  readonly clientAddress: string;
  /** What the client asked for: `api.example.com`, `https`. */
  readonly host: string;
  readonly protocol: string;
  /** The path before that of the server inside, without a slash at its end. */
  readonly prefix: string;
}

/** What the server inside is told. */
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
    // Servers of developers take WebSockets only from pages of their own: who may come is decided before.
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
  /** Whoever has the address may have what is behind it, whatever page asks: pages from inside have no origin. */
  readonly anyOrigin: boolean;
}

/** What the client is told. */
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

/** A redirect of the server's to itself leads to where it is seen from outside. */
function locationOut(location: string, port: number, prefix: string): string {
  const own = new RegExp(`^https?://(localhost|127\\.0\\.0\\.1|\\[::1\\]):${port}(?=/|$)`);
  const path = location.replace(own, '');
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
