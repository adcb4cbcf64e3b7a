// One HTTP/1.1 request over a socket that was dialled for it, up to the headers of its answer.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { fetchFailed } from './failures.ts';
import type { Target } from './target.ts';

export interface Exchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** Bytes of an answer's headers. */
const HEADERS_BYTES_MAX = 16 * 1024;

/**
 * Sends the request and resolves with the answer, whose body has not been read. Aborting the signal destroys the socket.
 * @throws ServiceError `url_fetch_failed`; the signal's reason when it is aborted.
 */
export function exchange(
  socket: Socket,
  { url }: Target,
  { method, headers, body }: Exchange,
  { param, signal }: { param: string; signal: AbortSignal },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      createConnection: () => socket,
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        ...headers,
        host: url.host,
        connection: 'close',
        ...(body === null ? {} : { 'content-length': String(body.length) }),
      },
      maxHeaderSize: HEADERS_BYTES_MAX,
    });
    const abort = () => {
      reject(signal.reason);
      request.destroy();
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    const stopListening = () => signal.removeEventListener('abort', abort);
    request.once('response', (answer) => {
      answer.on('error', () => {}); // the reader gets the error, if there is a reader
      answer.once('close', stopListening);
      resolve(answer);
    });
    request.on('error', (cause) => {
      stopListening();
      reject(fetchFailed(param, 'protocol', 'the host did not answer with HTTP. Check the URL.', cause));
    });
    request.end(body);
  });
}
