// WebSockets on routes: the request is routed and guarded as any other, and its handler takes the connection over. What is
// refused is answered in HTTP, as any other is.
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';

export interface PendingUpgrade {
  /** The client's bytes that came with its request. */
  readonly head: Buffer;
  readonly socket: Duplex;
  /** Takes the connection over: the route answers on it itself from here on. */
  accept(): Duplex;
}

export class Upgrades {
  readonly #paths: RegExp;
  readonly #pending = new WeakMap<IncomingMessage, PendingUpgrade>();
  readonly #accepted = new Set<Duplex>();
  #closing = false;

  /** @param paths which take WebSockets; elsewhere `Upgrade` is passed over */
  constructor(paths: RegExp) {
    this.#paths = paths;
  }

  /** For the server: other upgrades (h2c, say) stay ordinary requests. */
  readonly isWanted = ({ headers, url = '' }: IncomingMessage): boolean =>
    headers.upgrade?.toLowerCase() === 'websocket' && this.#paths.test(url);

  watch(app: FastifyInstance): void {
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
      // Nobody reads on such a connection any more: one that was refused ends now, whatever its client does.
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

  /** Null for an ordinary request. */
  of(request: IncomingMessage): PendingUpgrade | null {
    return this.#pending.get(request) ?? null;
  }
}
