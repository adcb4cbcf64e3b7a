// Tracks the answers that each connection waits for. A malformed or late request gets an error only when the client
// cannot mistake it for a part of another answer. A draining edge closes connections without pending answers. A client
// that does not read its answers is disconnected.
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorKind, ServiceError, toErrorBody } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { PIPELINED_REQUESTS_MAX, STALLED_CLIENT_CHECK_MS, STALLED_CLIENT_MS_MAX } from './limits.ts';
import type { Upgrades } from './upgrades.ts';

/** The code of Node's error for a request that did not arrive in time. */
const TIMEOUT_CODE = 'ERR_HTTP_REQUEST_TIMEOUT';

/** For errors of Node's server: invalid HTTP, URL and headers over 16 KiB, or a timeout. */
function refusalOf({ code }: NodeJS.ErrnoException): ServiceError {
  return code === TIMEOUT_CODE
    ? new ServiceError('body_timeout', 'The request did not arrive in time. Send it again, faster.')
    : new ServiceError(
        'invalid_request',
        'The request is not valid HTTP, or its URL and headers exceed 16 KiB. Correct the client.',
      );
}

/** The whole answer. */
function answerOf(error: ServiceError, requestId: string): string {
  const body = JSON.stringify(toErrorBody(error, requestId));
  const { status } = errorKind(error.code);
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

interface ConnectionsDeps {
  readonly upgrades: Pick<Upgrades, 'isAccepted'>;
  readonly clock: Clock;
}

interface Connection {
  readonly socket: Socket;
  /** Pending answers, in the order of their requests. */
  readonly awaited: Set<ServerResponse>;
  /** False before its first request: clients open some connections in advance. */
  isUsed: boolean;
  /** Bytes that the client had accepted, and when they last changed. */
  accepted: number;
  acceptedAt: number;
}

export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  readonly #deps: ConnectionsDeps;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
  }

  /** Tracks the pending answers of the server, and disconnects clients that do not read theirs. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { socket, awaited: new Set(), isUsed: false, accepted: 0, acceptedAt: 0 });
      socket.once('close', () => this.#open.delete(socket));
    });
    // Before the request is served: one too many must not begin.
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = this.#open.get(socket);
      if (!connection) return;
      const { awaited } = connection;
      connection.isUsed = true;
      awaited.add(response);
      response.once('close', () => {
        awaited.delete(response);
        if (!server.listening && awaited.size === 0) socket.destroySoon();
      });
      if (awaited.size > PIPELINED_REQUESTS_MAX) socket.destroy();
    });
    // Node's own would cut off answers whose last bytes are not sent yet. `server.close` calls it.
    server.closeIdleConnections = () => this.#closeIdle();
    this.#disconnectStalled(server);
  }

  /** Answers 400 or 408 and closes, or only closes. */
  refuse(error: Error, socket: Socket, requestId: string): void {
    if (!socket.writable || socket.bytesRead === 0 || this.#isAnswering(socket)) {
      socket.destroy();
      return;
    }
    socket.end(answerOf(refusalOf(error), requestId), () => socket.destroy()); // the client may never close its half
  }

  #closeIdle(): void {
    for (const { socket, awaited, isUsed } of this.#open.values())
      if (isUsed ? awaited.size === 0 : socket.bytesRead === 0) socket.destroySoon();
  }

  #disconnectStalled(server: Server): void {
    const { clock, upgrades } = this.#deps;
    let stopClock = () => {};
    const check = () => {
      const now = clock.monotonic();
      for (const connection of this.#open.values()) {
        const { socket } = connection;
        if (upgrades.isAccepted(socket)) continue; // WebSockets may pause
        const accepted = acceptedBytes(socket);
        if (socket.writableLength === 0 || accepted !== connection.accepted)
          Object.assign(connection, { accepted, acceptedAt: now });
        else if (now - connection.acceptedAt >= STALLED_CLIENT_MS_MAX) socket.destroy();
      }
      stopClock = clock.after(STALLED_CLIENT_CHECK_MS, check);
    };
    server.once('listening', check).once('close', () => stopClock());
  }

  /** A request that broke in its own body has no answer yet: the refusal is its answer. */
  #isAnswering(socket: Duplex): boolean {
    const [first] = this.#open.get(socket)?.awaited ?? [];
    return first !== undefined && (first.req.complete || first.headersSent);
  }
}

/** Changes whenever the kernel takes more bytes. The queue of the handle shrinks also within one large write. */
function acceptedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize: number } | null };
  return socket.bytesWritten - (handle?.writeQueueSize ?? 0);
}
