// A connection to an address that was checked, and to no other: the name is resolved here, once, and the socket gets the
// address itself. A name that resolves otherwise a moment later (DNS rebinding) changes nothing.
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { AllowList } from './allow-list.ts';
import { fetchFailed } from './failures.ts';
import type { Lookup } from './lookup.ts';
import { parseAddress } from './public-address.ts';
import { mayConnect, refusal, type Target } from './target.ts';

export interface Dialing {
  readonly allow: AllowList;
  /** Public addresses that are not connected to. */
  readonly refused: ReadonlySet<string>;
  readonly lookup: Lookup;
  /** Certificates (PEM) trusted beside the system's. */
  readonly ca?: readonly string[] | undefined;
}

/** Addresses of one name that are tried. */
const ADDRESSES_MAX = 4;
/** What one address gets to accept a connection, so that a dead one leaves time for the next. */
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * The addresses of a target that may be connected to, at least one.
 * @throws ServiceError `url_not_allowed`, or `url_fetch_failed` where the name resolves to nothing.
 */
export async function resolve(
  { allow, refused, lookup }: Dialing,
  target: Target,
  param: string,
): Promise<readonly string[]> {
  const found = target.literal === null ? await resolveName(lookup, target.host, param) : [target.literal];
  const allowed = found.filter((address) => mayConnect({ allow, refused }, target, address));
  if (allowed.length === 0) throw refusal(target, param);
  return allowed.slice(0, ADDRESSES_MAX).map((address) => parseAddress(address).toString());
}

/**
 * A socket to one of these addresses, with TLS on it for https.
 * @throws ServiceError `url_fetch_failed`; the signal's reason when it is aborted.
 */
export async function dial(
  { ca }: Dialing,
  target: Target,
  addresses: readonly string[],
  { param, signal }: { param: string; signal: AbortSignal },
): Promise<Socket> {
  const socket = await dialAny(addresses, target.port, param, signal);
  if (target.url.protocol === 'http:') return socket;
  const secure = connectTls({
    socket,
    // No name is indicated for an address; the certificate is held to `host` then.
    ...(target.literal === null ? { servername: target.host, host: target.host } : { host: target.literal }),
    ALPNProtocols: ['http/1.1'],
    ...(ca === undefined ? {} : { ca: [...ca] }),
  });
  try {
    await once(secure, 'secureConnect', { signal });
    return secure;
  } catch (cause) {
    secure.destroy();
    socket.destroy();
    signal.throwIfAborted();
    throw fetchFailed(
      param,
      'tls',
      `no secure connection (${reasonOf(cause)}). Check the server’s certificate.`,
      cause,
    );
  }
}

async function resolveName(lookup: Lookup, host: string, param: string): Promise<readonly string[]> {
  try {
    const addresses = await lookup(host);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw fetchFailed(param, 'dns', 'the host name could not be resolved. Check the URL.', cause);
  }
  throw fetchFailed(param, 'dns', 'the host name has no address. Check the URL.');
}

async function dialAny(
  addresses: readonly string[],
  port: number,
  param: string,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown;
  for (const address of addresses)
    try {
      return await dialOne(address, port, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  throw fetchFailed(
    param,
    'connect',
    `the connection failed (${reasonOf(failure)}). Check that the server is reachable.`,
    failure,
  );
}

async function dialOne(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host: address, port, noDelay: true });
  const inTime = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, inTime]) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw inTime.aborted ? new Error('it was not accepted in time') : error;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
