// One HTTP/1.1 request to checked addresses only, up to the headers of its answer.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { fetchFailed } from './failures.ts';
import type { Target } from './target.ts';

export interface Exchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

interface ExchangeOptions {
  readonly param: string;
  /** The addresses to try; Node alternates IPv4 and IPv6. The name is not resolved again. */
  readonly addresses: readonly string[];
  /** Certificates (PEM) trusted in place of the system's. */
  readonly ca: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/** Bytes of an answer's headers. */
const HEADERS_BYTES_MAX = 16 * 1024;
/** Time for an address to accept a connection before the next one is tried. */
const ADDRESS_TIMEOUT_MS = 5_000;

/**
 * Sends the request and resolves with the answer, whose body has not been read. Aborting the signal destroys it.
 * @throws ServiceError `url_fetch_failed`; the signal's reason when it is aborted.
 */
export function exchange(
  { url }: Target,
  { method, headers, body }: Exchange,
  { param, addresses, ca, signal }: ExchangeOptions,
): Promise<IncomingMessage> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  // Later, as a real lookup: the client does not listen to a socket yet whose connection fails at once.
  const lookup: LookupFunction = (_host, _options, done) => process.nextTick(done, null, found);
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { request: ask, Agent } = url.protocol === 'https:' ? https : http;
    const request = ask(url, {
      method,
      headers: {
        ...headers,
        host: url.host,
        connection: 'close',
        ...(body === null ? {} : { 'content-length': String(body.length) }),
      },
      maxHeaderSize: HEADERS_BYTES_MAX,
      agent: new Agent({
        lookup,
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
        ...(ca === undefined ? {} : { ca: [...ca] }),
      }),
    });
    const failureOf = watchProgress(request, url.protocol === 'https:', param);
    const abort = () => {
      reject(signal.reason);
      request.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    const stopListening = () => signal.removeEventListener('abort', abort);
    request.once('response', (answer) => {
      answer.on('error', () => {}); // the reader gets the error, if there is a reader
      answer.once('close', stopListening);
      resolve(answer);
    });
    request.on('error', (cause) => {
      stopListening();
      reject(failureOf(cause));
    });
    request.end(body);
  });
}

/** The returned function maps an error by the progress of the request. */
function watchProgress(request: ClientRequest, isSecure: boolean, param: string) {
  let reached: 'nothing' | 'server' | 'http' = 'nothing';
  request.once('socket', (socket) => {
    socket.once('connect', () => {
      reached = isSecure ? 'server' : 'http';
    });
    socket.once('secureConnect', () => {
      reached = 'http';
    });
  });
  return (cause: Error) => {
    switch (reached) {
      case 'nothing':
        return fetchFailed(
          param,
          'connect',
          `the connection failed (${reasonOf(cause)}). Check that the server is reachable.`,
          cause,
        );
      case 'server':
        return fetchFailed(
          param,
          'tls',
          `no secure connection (${reasonOf(cause)}). Check the server’s certificate.`,
          cause,
        );
      case 'http':
        return fetchFailed(param, 'protocol', 'the host did not answer with HTTP. Check the URL.', cause);
    }
  };
}

function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
