// `Idempotency-Key` on any POST of any route: the first request under a key runs, whoever repeats it gets its answer. All of
// it is hooks around a route, which knows nothing of them; requests without the header pass them by.
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
import type { RouteDescription } from '../http/route.ts';
import { type CapturedHead, captureAnswer } from './captured-answer.ts';
import type { Answered, KeptRequests, Reservation } from './kept-requests.ts';
import { digestOf, type RequestDigest } from './request-digest.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request with the header: its run under the key. */
    idempotent: IdempotentRun | null;
  }
}

/** A request with the header, from its arrival on. */
export class IdempotentRun {
  readonly digest: RequestDigest;
  /** The answer is not to be kept, whatever it is: the request was refused for its having a key. */
  forget = false;
  #hasEnded: (() => boolean) | null = null;

  constructor(raw: IncomingMessage) {
    this.digest = digestOf(raw);
  }

  /** It is the first under its key, and runs until its answer has ended. */
  runsUntil(hasEnded: () => boolean): void {
    this.#hasEnded = hasEnded;
  }

  /** Its work goes on, though its client may be gone. */
  get outlivesClient(): boolean {
    return this.#hasEnded !== null && !this.#hasEnded();
  }
}

export interface IdempotencyOptions {
  kept: KeptRequests;
  clock: Clock;
}

/** When a repeat that came too early may ask again. */
const IN_USE_RETRY_AFTER_S = 1;
/** How long a stop waits for requests that outlive their clients. */
const IDLE_WAIT_MS = 10_000;

/** What a POST route is registered with beside its own. */
export type IdempotencyHooks = { onRequest: onRequestHookHandler } & Required<
  Pick<RouteShorthandOptions, 'preParsing' | 'preHandler'>
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
      // Before anything that may wait: not a byte of the body must have come.
      onRequest(request, _reply, done) {
        if (isAsked(request)) request.idempotent = new IdempotentRun(request.raw);
        done();
      },
      // After the guard, before the body is read: a repeat is answered without its route.
      preParsing: (request, reply, payload, done) => {
        if (request.idempotent === null) return done(null, payload);
        this.#admit(request, request.idempotent, reply, route).then(
          (runs) => runs && done(null, payload),
          (error: Error) => done(error),
        );
      },
      preHandler(request, _reply, done) {
        if (request.idempotent === null || !route.response.alsoStreams || !asksForStream(request))
          return done();
        request.idempotent.forget = true;
        done(invalid('is for answers that come whole: leave it out, or leave out stream'));
      },
    };
  }

  /** Resolves when no request runs any more that its client has left, or after `IDLE_WAIT_MS`. */
  async idle(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stopClock = this.#clock.after(IDLE_WAIT_MS, resolve);
    await Promise.race([Promise.all(this.#running), late]);
    stopClock();
  }

  /** True where the request is the first; else it has been answered. */
  async #admit(
    request: FastifyRequest,
    run: IdempotentRun,
    reply: FastifyReply,
    route: RouteDescription,
  ): Promise<boolean> {
    const { apiKey, id, method, url } = request;
    if (!apiKey) throw new Error('a guarded route without a key');
    const found = await this.#kept.reserve(keyOf(request), {
      state: 'running',
      org: apiKey.org,
      request_id: id,
      method,
      path: url,
      started_at: new Date(this.#clock.now()).toISOString(),
    });
    if ('revision' in found) {
      this.#run(run, reply, found, route);
      return true;
    }
    if (found.state === 'running') throw inUse(found);
    request.raw.resume(); // to its digest; nobody reads it
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
        // What is answered before the whole request is there was refused: nothing was done.
        const unread = !run.digest.complete || wasLostUnread(run, reply.request.raw, head);
        if (run.forget || unread || !isKept(head, route)) {
          body.discard();
          await this.#kept.release(reservation);
        } else await this.#kept.keep(reservation, await run.digest.done, head, body);
        over.resolve();
      },
      onDestroy: over.resolve,
    });
    run.runsUntil(hasEnded);
  }

  async #replay(
    record: Answered,
    digest: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    if (record.method !== request.method || record.path !== request.url || record.digest !== digest)
      throw new ServiceError(
        'idempotency_conflict',
        `this ${IDEMPOTENCY_HEADER} was used before, for another request (${record.request_id}); take a new one`,
        { param: IDEMPOTENCY_HEADER, details: { request_id: record.request_id } },
      );
    const body = await this.#kept.bodyOf(record, keyOf(request));
    if (!body) throw inUse(record);
    const { status, headers, body: kept } = record.answer;
    reply.hijack();
    reply.raw.writeHead(status, {
      ...headers,
      'content-length': kept.bytes,
      [REPLAYED_HEADER]: 'true',
    });
    // A client that goes away, or a store that does, cuts the answer: it may be asked for again.
    await pipeline(Readable.from(body), reply.raw).catch(() => reply.raw.destroy());
  }
}

function isAsked({ headers }: FastifyRequest): boolean {
  return headers['idempotency-key'] !== undefined;
}

/** @throws ServiceError `invalid_request` naming the header. */
function keyOf({ headers }: FastifyRequest): string {
  const parsed = idempotencyKey.safeParse(headers['idempotency-key']);
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.message ?? 'is not valid');
  return parsed.data;
}

function invalid(what: string): ServiceError {
  return new ServiceError('invalid_request', `${IDEMPOTENCY_HEADER} ${what}`, { param: IDEMPOTENCY_HEADER });
}

function inUse({ request_id, started_at }: IdempotencyRecord): ServiceError {
  return new ServiceError(
    'idempotency_in_use',
    `the first request under this ${IDEMPOTENCY_HEADER} (${request_id}, begun at ${started_at}) is not over, or its end is unknown: it is not run again`,
    { param: IDEMPOTENCY_HEADER, details: { request_id, started_at }, retryAfterS: IN_USE_RETRY_AFTER_S },
  );
}

/**
 * All of the body had come, and went with its client before the route had read it: the refusal is of no request that was
 * made.
 */
function wasLostUnread({ digest }: IdempotentRun, raw: IncomingMessage, { status }: CapturedHead): boolean {
  return status >= 400 && digest.hasBody && raw.destroyed && !raw.readableEnded;
}

/** What says "come back", and what is no answer to the request itself, must not stand for a day. */
function isKept({ status, headers }: CapturedHead, route: RouteDescription): boolean {
  const retry = headers['x-should-retry'];
  if (status === 401 || status === 429 || retry === 'true') return false;
  // Where work may have begun, a 503 is as final as any other answer.
  return status !== 503 || (route.repeatable === false && retry === 'false');
}

/** The body has been parsed by then; one that is no JSON is refused by its route. */
function asksForStream({ body }: FastifyRequest): boolean {
  try {
    const parsed: unknown = Buffer.isBuffer(body) ? JSON.parse(body.toString('utf8')) : null;
    return typeof parsed === 'object' && parsed !== null && 'stream' in parsed && parsed.stream === true;
  } catch {
    return false;
  }
}

/** @throws ServiceError `invalid_request` when the body is cut. */
function wholeDigest({ raw }: FastifyRequest, { digest }: IdempotentRun): Promise<string> {
  return new Promise((resolve, reject) => {
    digest.done.then(resolve, reject);
    raw.once('close', () => {
      if (!digest.complete) reject(new ServiceError('invalid_request', 'the body ended before it was whole'));
    });
  });
}
