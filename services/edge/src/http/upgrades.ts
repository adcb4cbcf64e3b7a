// WebSockets on routes. An upgrade is routed and guarded like any request, and its handler takes the connection over.
// Refusals are plain HTTP answers.
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';

export interface PendingUpgrade {
  /** Bytes that arrived with the client's request. */
  readonly head: Buffer;
  readonly socket: Duplex;
  /** Takes the connection over: the route answers on it from now on. */
  accept(): Duplex;
}

export class Upgrades {
  readonly #paths: RegExp;
  readonly #pending = new WeakMap<IncomingMessage, PendingUpgrade>();
  readonly #accepted = new Set<Duplex>();
  #closing = false;

  /** @param paths that accept WebSockets; `Upgrade` is ignored elsewhere */
  constructor(paths: RegExp) {
    this.#paths = paths;
  }

  /** For the server's upgrade check: other upgrades, such as h2c, stay ordinary requests. */
  readonly isWanted = ({ headers, url = '' }: IncomingMessage): boolean =>
    headers.upgrade?.toLowerCase() === 'websocket' && this.#paths.test(url);

  watch(app: FastifyInstance): void {
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
      // The server no longer reads this connection, so a refused one is closed at once, whatever its client does.
      response.once('finish', () => socket.end(() => socket.destroy()));
      this.#pending.set(request, {
        head,
        socket,
        accept: () => {
          response.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
          this.#accepted.add(socket);
          socket.once('close', () => this.#accepted.delete(socket));
          if (this.#closing) socket.destroy();
          return socket;
        },
      });
      app.routing(request, response);
    });
    app.addHook('preClose', (done) => {
      this.#closing = true;
      for (const socket of this.#accepted) socket.destroy();
      done();
    });
  }

  /** Whether a route has taken the connection over. */
  isAccepted(socket: Duplex): boolean {
    return this.#accepted.has(socket);
  }

  /** Returns null for an ordinary request. */
  of(request: IncomingMessage): PendingUpgrade | null {
    return this.#pending.get(request) ?? null;
  }
}
