// Which answers each connection waits for. By that, what cannot be read as HTTP gets a 400 only where the client cannot
// take it for a part of another answer, and a draining edge closes a connection as soon as nothing is awaited on it.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const BODY = JSON.stringify({
  error: {
    type: 'invalid_request_error',
    code: 'invalid_request',
    message: 'this is not HTTP that can be read',
    param: null,
    request_id: '',
  },
});
const ANSWER =
  'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\n' +
  `Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`;

export class Connections {
  /** In the order of their requests. */
  readonly #awaited = new WeakMap<Duplex, Set<ServerResponse>>();
  /** Those on which nothing was asked yet: clients open some ahead of need. */
  readonly #unused = new Set<Socket>();

  #draining = false;

  /** Learns from the server which answers are under way. */
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
   * From here on no connection is kept alive; without this one whose request is older would be, for its whole timeout, and
   * one that was never used for as long as its first request may take.
   */
  drain(): void {
    this.#draining = true;
    for (const socket of this.#unused) if (socket.bytesRead === 0) socket.destroySoon();
  }

  /** Answers and closes, or just closes. */
  refuse(socket: Duplex): void {
    if (!socket.writable || this.#isAnswering(socket)) {
      socket.destroy();
      return;
    }
    socket.end(ANSWER, () => socket.destroy()); // the client may never close its half
  }

  #answered(socket: Socket, awaited: Set<ServerResponse>, response: ServerResponse): void {
    awaited.delete(response);
    if (this.#draining && awaited.size === 0) socket.destroySoon();
  }

  /** A request that broke in its own body is not being answered yet: the 400 is its answer. */
  #isAnswering(socket: Duplex): boolean {
    const [first] = this.#awaited.get(socket) ?? [];
    return first !== undefined && (first.req.complete || first.headersSent);
  }
}
