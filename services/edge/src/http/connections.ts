// Tracks the answers that each connection waits for. A malformed request gets a 400 only when the client cannot mistake
// it for a part of another answer. A draining edge closes a connection as soon as no answer is pending on it.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The whole answer to a request that Node's parser refuses: no HTTP, or a URL and headers of over 16 KiB. */
function refusal(requestId: string): string {
  const message = 'The request is not valid HTTP, or its URL and headers exceed 16 KiB. Correct the client.';
  const error = { type: 'invalid_request_error', code: 'invalid_request', message, param: null };
  const body = JSON.stringify({ error: { ...error, request_id: requestId } });
  return (
    `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

export class Connections {
  /** Pending answers, in the order of their requests. */
  readonly #awaited = new WeakMap<Duplex, Set<ServerResponse>>();
  /** Connections without any request so far: clients open some in advance. */
  readonly #unused = new Set<Socket>();

  #draining = false;

  /** Tracks the pending answers of the server. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#unused.add(socket);
      socket.once('close', () => this.#unused.delete(socket));
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#unused.delete(socket);
      const awaited = this.#awaited.get(socket) ?? new Set();
      this.#awaited.set(socket, awaited.add(response));
      response.once('close', () => this.#answered(socket, awaited, response));
    });
  }

  /**
   * Ends keep-alive. Without this, a connection with an older request would stay open for its whole timeout, and an
   * unused one for as long as its first request may take.
   */
  drain(): void {
    this.#draining = true;
    for (const socket of this.#unused) if (socket.bytesRead === 0) socket.destroySoon();
  }

  /** Answers 400 and closes, or only closes. */
  refuse(socket: Duplex, requestId: string): void {
    if (!socket.writable || this.#isAnswering(socket)) {
      socket.destroy();
      return;
    }
    socket.end(refusal(requestId), () => socket.destroy()); // the client may never close its half
  }

  #answered(socket: Socket, awaited: Set<ServerResponse>, response: ServerResponse): void {
    awaited.delete(response);
    if (this.#draining && awaited.size === 0) socket.destroySoon();
  }

  /** A request that broke in its own body has no answer yet: the 400 is its answer. */
  #isAnswering(socket: Duplex): boolean {
    const [first] = this.#awaited.get(socket) ?? [];
    return first !== undefined && (first.req.complete || first.headersSent);
  }
}
