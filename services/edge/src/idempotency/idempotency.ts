// `Idempotency-Key` on any POST route: the first request under a key runs, and the API key that repeats it gets the
// stored answer. Implemented as hooks around routes; a route only announces that it streams. Requests without the
// header skip it.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  IDEMPOTENCY_HEADER,
  type IdempotencyRecord,
  idempotencyKey,
  REPLAYED_HEADER,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteShorthandOptions } from 'fastify';
import { requireModels } from '../auth/spending.ts';
import { clientDisconnected } from '../http/request-over.ts';
import { callerOf, type RouteDescription } from '../http/route.ts';
import { incompleteBody } from '../http/streamed-body.ts';
import { type CapturedHead, captureAnswer, isEventStream } from './captured-answer.ts';
import type { Answered, KeptRequests, Reservation } from './kept-requests.ts';
import { digestOf, type RequestDigest } from './request-digest.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The run under the key, for a request with the header. */
    idempotent: IdempotentRun | null;
  }
}

interface BegunRun {
  hasEnded(): boolean;
  readonly ended: Promise<void>;
  /**
   * Writes to the record that the answer is a stream.
   * @throws ServiceError `service_unavailable` when the client has left: no work begins, and the key is free
   */
  beginStream(): Promise<void>;
  cutOff(): void;
}

/** A request with the header, from its arrival on. */
class IdempotentRun {
  readonly digest: RequestDigest;
  isForgotten = false;
  wasInterrupted = false;
  streams = false;
  /** For a key's first request; it runs until its answer has ended. */
  begun: BegunRun | null = null;
  onKept = () => {};

  constructor(raw: IncomingMessage) {
    this.digest = digestOf(raw);
  }

  /**
   * Announces a stream, before its work begins: a stream is not kept, so repeats are refused from now on, and it ends
   * with its client.
   */
  async beginStream(): Promise<void> {
    this.streams = true;
    try {
      await this.begun?.beginStream();
    } catch (error) {
      this.forget(); // the store is unavailable, and no work has begun
      throw error;
    }
  }

  /** The answer is not kept and the key stays free, since no work has begun. */
  forget(): void {
    this.isForgotten = true;
  }

  /** Begun work ended without a result, for example with its API key: a repeat must not run it again. */
  interrupted(): void {
    this.wasInterrupted = true;
  }

  /** The edge gives up an answer that it has begun to send: it is not kept, and a repeat must not run the work again. */
  cutOff(): void {
    this.begun?.cutOff();
  }

  /** Calls `run` when the answer is stored, before it ends. Not called for an answer that is not kept. */
  whenKept(run: () => void): void {
    this.onKept = run;
  }

  /** Resolves when the first request under the key is over. */
  get ended(): Promise<void> {
    return this.begun?.ended ?? Promise.resolve();
  }

  /** True while the work continues without regard to its client. */
  get outlivesClient(): boolean {
    return this.begun !== null && !this.streams && !this.begun.hasEnded();
  }
}

interface IdempotencyOptions {
  kept: KeptRequests;
  clock: Clock;
}

/** Seconds after which a repeat that came too early may retry. */
const IN_USE_RETRY_AFTER_S = 1;
/** How long a shutdown waits for requests that outlive their clients. */
const IDLE_WAIT_MS = 10_000;

/** Hooks that are added to the registration of a POST route. */
type IdempotencyHooks = { onRequest: onRequestHookHandler } & Required<
  Pick<RouteShorthandOptions, 'preParsing'>
>;

export class Idempotency {
  readonly #kept: KeptRequests;
  readonly #clock: Clock;
  readonly #running = new Set<Promise<void>>();

  constructor({ kept, clock }: IdempotencyOptions) {
    this.#kept = kept;
    this.#clock = clock;
  }

  hooksFor(route: RouteDescription): IdempotencyHooks {
    return {
      // First of all, since anything asynchronous could miss bytes of the body.
      onRequest(request, _reply, done) {
        if (isAsked(request)) request.idempotent = new IdempotentRun(request.raw);
        done();
      },
      // After the guard and before the body is read: a repeat is answered without its route.
      preParsing: (request, reply, payload, done) => {
        if (request.idempotent === null) return done(null, payload);
        this.#admit(request, request.idempotent, reply, route).then(
          (runs) => runs && done(null, payload),
          (error: Error) => done(error),
        );
      },
    };
  }

  /** Resolves when no request without a client runs any more, or after `IDLE_WAIT_MS`. */
  async idle(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stopClock = this.#clock.after(IDLE_WAIT_MS, resolve);
    await Promise.race([Promise.all(this.#running).then(() => this.#kept.idle()), late]);
    stopClock();
  }

  /** Returns true when the request is the first; otherwise it has been answered. */
  async #admit(
    request: FastifyRequest,
    run: IdempotentRun,
    reply: FastifyReply,
    route: RouteDescription,
  ): Promise<boolean> {
    const { id, method, url } = request;
    const apiKey = callerOf(request);
    const found = await this.#kept.reserve(keyOf(request), {
      state: 'running',
      org: apiKey.org,
      key_id: apiKey.id,
      request_id: id,
      method,
      path_sha256: hash('sha256', url),
      started_at: new Date(this.#clock.now()).toISOString(),
    });
    if ('revision' in found) {
      this.#run(run, reply, found, route);
      return true;
    }
    if (found.key_id !== apiKey.id) throw conflict(found);
    if (found.state === 'streaming') throw notKept(found);
    if (found.state === 'running') throw inUse(found);
    request.raw.resume(); // feeds the digest; the bytes are not used otherwise
    await this.#replay(found, await wholeDigest(request, run), request, reply);
    return false;
  }

  #run(run: IdempotentRun, reply: FastifyReply, reservation: Reservation, route: RouteDescription): void {
    const over = Promise.withResolvers<void>();
    this.#running.add(over.promise);
    over.promise.finally(() => this.#running.delete(over.promise));
    const body = this.#kept.bodyKeeper(reservation, () => reply.raw.emit('drain'));
    const hasEnded = captureAnswer(reply.raw, {
      write: (piece) => body.write(piece),
      end: async (head) => {
        // An answer before the whole request arrived is a refusal: nothing was done.
        const unread = !run.digest.complete || wasLostUnread(run, reply.request.raw, head);
        if (isEventStream(head.headers)) body.discard();
        else if (run.isForgotten || unread || !isKept(head, route)) {
          body.discard();
          if (!run.wasInterrupted) await this.#kept.release(reservation);
        } else {
          const asked = { digest: await run.digest.done, models: reply.request.models };
          if (await this.#kept.keep(reservation, asked, head, body)) run.onKept();
        }
        over.resolve();
      },
    });
    const beginStream = async () => {
      if (reply.raw.destroyed) throw clientDisconnected();
      await this.#kept.markStreaming(reservation);
    };
    const cutOff = () => {
      body.discard();
      over.resolve();
    };
    run.begun = { hasEnded, ended: over.promise, beginStream, cutOff };
    reply.raw.once('close', () => {
      if (run.streams) over.resolve(); // its client disconnected, and no end follows
    });
  }

  async #replay(
    record: Answered,
    digest: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const isSamePath = record.path_sha256 === hash('sha256', request.url);
    if (record.method !== request.method || !isSamePath || record.digest !== digest) throw conflict(record);
    requireModels(callerOf(request), record.models);
    const body = await this.#kept.bodyOf(record, keyOf(request));
    if (!body) throw inUse(record);
    const { status, headers, body: kept } = record.answer;
    reply.hijack();
    reply.raw.writeHead(status, {
      ...headers,
      'content-length': kept.bytes,
      [REPLAYED_HEADER]: 'true',
    });
    // A client or store that disconnects cuts the answer off; the client may repeat the request.
    await pipeline(Readable.from(body), reply.raw).catch(() => reply.raw.destroy());
  }
}

function isAsked({ headers }: FastifyRequest): boolean {
  return headers['idempotency-key'] !== undefined;
}

/** @throws ServiceError `invalid_request` that names the header. */
function keyOf({ headers }: FastifyRequest): string {
  const parsed = idempotencyKey.safeParse(headers['idempotency-key']);
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.message ?? 'is not valid');
  return parsed.data;
}

function invalid(what: string): ServiceError {
  return new ServiceError('invalid_request', `${IDEMPOTENCY_HEADER} ${what}`, { param: IDEMPOTENCY_HEADER });
}

function conflict({ request_id }: IdempotencyRecord): ServiceError {
  return new ServiceError(
    'idempotency_conflict',
    `This ${IDEMPOTENCY_HEADER} was used for another request (${request_id}) or by another API key. Use a new one.`,
    { param: IDEMPOTENCY_HEADER, details: { request_id } },
  );
}

function notKept({ request_id, started_at }: IdempotencyRecord): ServiceError {
  return new ServiceError(
    'idempotency_conflict',
    `This ${IDEMPOTENCY_HEADER} was used for a stream (${request_id}), which cannot be repeated. Use a new one.`,
    { param: IDEMPOTENCY_HEADER, details: { request_id, started_at } },
  );
}

function inUse({ request_id, started_at }: IdempotencyRecord): ServiceError {
  return new ServiceError(
    'idempotency_in_use',
    `The first request with this ${IDEMPOTENCY_HEADER} (${request_id}) still runs: retry later. If its answer was lost, use a new key.`,
    { param: IDEMPOTENCY_HEADER, details: { request_id, started_at }, retryAfterS: IN_USE_RETRY_AFTER_S },
  );
}

/**
 * Whether the complete body was lost because its client disconnected before the route read it. The refusal then answers
 * a request that was never processed.
 */
function wasLostUnread({ digest }: IdempotentRun, raw: IncomingMessage, { status }: CapturedHead): boolean {
  return status >= 400 && digest.hasBody && raw.destroyed && !raw.readableEnded;
}

/** Answers that ask for a retry, and answers that do not depend on the request, must not be kept for a day. */
function isKept({ status, headers }: CapturedHead, route: RouteDescription): boolean {
  const retry = headers['x-should-retry'];
  if (status === 401 || status === 403 || status === 429 || retry === 'true') return false;
  // When work may have begun, a 503 is as final as any other answer.
  return status !== 503 || (route.repeatable === false && retry === 'false');
}

/** @throws ServiceError `invalid_request` when the body is incomplete. */
function wholeDigest({ raw }: FastifyRequest, { digest }: IdempotentRun): Promise<string> {
  return new Promise((resolve, reject) => {
    digest.done.then(resolve, reject);
    raw.once('close', () => {
      if (!digest.complete) reject(incompleteBody());
    });
  });
}
