// One model call, from its head to its usage event: resolve, attempt, fall back, price, emit, answer.
import type { EventPublisher, IncomingCall } from '@switchyard/bus';
import {
  type CatalogModel,
  type EventData,
  eventIds,
  type LogAttempt,
  MODEL_TYPES,
  type ModelCallHead,
  type ModelReplyHead,
  type ModelType,
  makeEvent,
  modelCallHead,
  ServiceError,
  type Upstream,
} from '@switchyard/contracts';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import type { HoldKeeper } from '@switchyard/spending';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import { unstreamed } from '../answers/whole-answer.ts';
import { type Catalog, makerOf } from '../catalog/catalog.ts';
import { CallBudget } from '../spending/call-budget.ts';
import { type Circuits, isSkip, type Pass, RETRY_AFTER_MS_MAX, type Skip } from './circuits.ts';
import { runExchange } from './exchange.ts';
import { type Failure, faultOf, rateLimited, toServiceError } from './failure.ts';
import { JsonRequest } from './json-request.ts';
import type { ModelRequest } from './model-request.ts';
import { FREE, type Price } from './pricing.ts';
import { receiveBody } from './receive-body.ts';
import { transcriptionRequest } from './transcription-request.ts';

export const EVENT_SOURCE = '/switchyard/model-router';
/** Below this nothing is worth starting. */
const ATTEMPT_WORTH_MS = 100;
/** Upstreams asked for one call, those of a second round included. */
export const ATTEMPTS_MAX = 20;
/** How often one call waits for upstreams that named a time to come back. */
export const WAITS_MAX = 2;

export interface ModelCallSurroundings {
  catalog: Catalog;
  circuits: Circuits;
  /** Milliseconds of the whole call, all attempts and waits together. */
  callTimeoutMs: number;
  /** What large bodies take their memory from. */
  largeBodies: ByteBudget;
  /** What calls hold whose caller is limited. */
  holds: HoldKeeper;
  events: EventPublisher;
  clock: Clock;
  logger: Logger;
}

type Completed = EventData<'call.completed'>;
type Outcome = Pick<Completed, 'status' | 'http_status' | 'error_code' | 'basis'> & {
  model: CatalogModel | null;
  price: Price;
};

interface Candidate {
  model: CatalogModel;
  upstream: Upstream;
}

/** Serves one call of `model-router.v1.<type>.call`. */
export function serveModelCall(
  on: ModelCallSurroundings,
  type: ModelType,
  call: IncomingCall,
): Promise<void> {
  return new ModelCall(on, type, call).run();
}

class ModelCall {
  readonly #on: ModelCallSurroundings;
  readonly #type: ModelType;
  readonly #call: IncomingCall;
  readonly #head: ModelCallHead;
  readonly #startedAt: number;
  readonly #attempts: LogAttempt[] = [];
  readonly #failures: Failure[] = [];
  #firstByteMs: number | null = null;
  /** Ends what the call is waiting for: an exchange, or a time to come back. */
  #abandon: (() => void) | null = null;
  #asked = 0;
  #current: { model: CatalogModel; streamed: StreamedAnswer | null } | null = null;
  #request: ModelRequest | null = null;
  /** Null: nothing limits the caller. */
  readonly #budget: CallBudget | null;

  constructor(on: ModelCallSurroundings, type: ModelType, call: IncomingCall) {
    this.#on = on;
    this.#type = type;
    this.#call = call;
    this.#head = modelCallHead.parse(call.head);
    this.#startedAt = on.clock.monotonic();
    const { org, key_id: keyId, request_id: id, limited } = this.#head;
    this.#budget = limited ? new CallBudget(on.holds.open({ org, keyId, call: id })) : null;
  }

  async run(): Promise<void> {
    this.#call.onCancelled(() => this.#callerGone());
    try {
      const models = this.#on.catalog.resolve(this.#head.models, this.#type);
      const body = await receiveBody(this.#call, this.#type, this.#head, this.#on.largeBodies);
      try {
        this.#request = await this.#requestOf(body.bytes);
        await this.#attemptEach(models, this.#request);
      } finally {
        body.release();
      }
    } catch (error) {
      if (this.#call.isCancelled) return; // its event is out already
      this.#refuse(error);
    }
  }

  #requestOf(body: Buffer): ModelRequest | Promise<ModelRequest> {
    if (this.#type === 'transcription') return transcriptionRequest(body, this.#head, this.#call.signal);
    return new JsonRequest(this.#type, body, this.#head);
  }

  async #attemptEach(models: CatalogModel[], request: ModelRequest): Promise<void> {
    const [first] = models;
    const able = models.filter((model) => {
      const refusal = request.refusalOf(model);
      if (refusal !== null && model === first) throw refusal;
      return refusal === null;
    });
    const candidates = able.flatMap((model) =>
      this.#on.catalog.usableUpstreams(model).map((upstream) => ({ model, upstream })),
    );
    if (candidates.length === 0 && first)
      throw new ServiceError(
        'model_unavailable',
        `${first.id} is not available: ${this.#on.catalog.unavailable(first)}`,
      );
    if (await this.#answerFrom(candidates, request)) return;
    if (!this.#call.isCancelled) throw this.#nobodyAnswered(candidates);
  }

  /** True when the call has ended. Asks each in turn; then, where some named a time to come back, those once more. */
  async #answerFrom(candidates: Candidate[], request: ModelRequest): Promise<boolean> {
    let round = candidates;
    for (let waits = 0; ; waits += 1) {
      if (await this.#askEach(round, request)) return true;
      const busy = this.#soonest(candidates);
      if (busy === null || waits >= WAITS_MAX || !this.#mayAsk()) return false;
      await this.#wait(busy.backInMs);
      round = [busy.candidate];
    }
  }

  async #askEach(candidates: Candidate[], request: ModelRequest): Promise<boolean> {
    const asked = this.#asked;
    const skipped: { candidate: Candidate; skip: Skip }[] = [];
    for (const candidate of candidates) {
      if (!this.#mayAsk()) return false;
      const entry = this.#on.circuits.enter(candidate.upstream);
      if (isSkip(entry)) {
        skipped.push({ candidate, skip: entry });
        this.#recordSkip(candidate, entry);
      } else if (await this.#attempt(candidate, request, entry)) return true;
    }
    if (this.#asked > asked) return false;
    // Nobody was asked: rather the one that comes back soonest than nobody. A rest that was asked for is waited for.
    const open = skipped.filter(({ skip }) => skip.state !== 'resting');
    const [first] = open.toSorted((a, b) => a.skip.backInMs - b.skip.backInMs);
    if (!first || !this.#mayAsk()) return false;
    return this.#attempt(first.candidate, request, this.#on.circuits.force(first.candidate.upstream));
  }

  /** Of those that named a time to come back, the first, where its time is worth waiting for. */
  #soonest(candidates: Candidate[]): { candidate: Candidate; backInMs: number } | null {
    const patienceMs = Math.min(RETRY_AFTER_MS_MAX, this.#remainingMs() - ATTEMPT_WORTH_MS);
    return (
      candidates
        .map((candidate) => ({
          candidate,
          backInMs: this.#on.circuits.saidToComeBackInMs(candidate.upstream) ?? Number.POSITIVE_INFINITY,
        }))
        .filter(({ backInMs }) => backInMs <= patienceMs)
        .toSorted((a, b) => a.backInMs - b.backInMs)[0] ?? null
    );
  }

  #mayAsk(): boolean {
    return (
      !this.#call.isCancelled &&
      this.#failures.at(-1)?.kind !== 'rejected' &&
      this.#asked < ATTEMPTS_MAX &&
      this.#remainingMs() >= ATTEMPT_WORTH_MS
    );
  }

  /** Resolves after the time, or when the caller goes away. */
  async #wait(ms: number): Promise<void> {
    const { clock } = this.#on;
    const until = clock.monotonic() + ms;
    // A timer may be early by the length of a turn of the loop.
    while (!this.#call.isCancelled && clock.monotonic() < until)
      await new Promise<void>((resolve) => {
        const takeBack = clock.after(Math.ceil(until - clock.monotonic()), resolve);
        this.#abandon = () => {
          takeBack();
          resolve();
        };
      });
  }

  #nobodyAnswered(candidates: Candidate[]): ServiceError {
    const details = { attempts: this.#attempts };
    const last = this.#failures.at(-1);
    if (last?.kind !== 'rejected' && this.#remainingMs() < ATTEMPT_WORTH_MS)
      return new ServiceError(
        'upstream_timeout',
        `no upstream answered within the ${this.#on.callTimeoutMs} ms of a call`,
        { details },
      );
    if (last) return toServiceError(this.#failures, details);
    const waits = candidates.map(({ upstream }) => this.#on.circuits.saidToComeBackInMs(upstream) ?? 0);
    const message = 'every upstream of the model asked to be left alone';
    return rateLimited(message, Math.min(...waits) / 1000, details);
  }

  #recordSkip({ model, upstream }: Candidate, { why, backInMs }: Skip): void {
    const forMs =
      backInMs > 0 ? `, for another ${Math.ceil(backInMs)} ms` : ', and another call is trying it';
    this.#attempts.push({
      model: model.id,
      upstream: `${upstream.adapter}:${upstream.model}`,
      status: null,
      error: `skipped: ${why}${forMs}`,
      skipped: true,
      latency_ms: 0,
    });
  }

  /** True when the call has ended with this attempt, well or badly; false when another may be made. */
  async #attempt({ model, upstream }: Candidate, request: ModelRequest, pass: Pass): Promise<boolean> {
    const outputTokensMax = this.#budget ? await this.#reserve(model, request, pass) : undefined;
    if (this.#call.isCancelled) {
      pass.abandoned();
      return true;
    }
    this.#asked += 1;
    const startedAt = this.#on.clock.monotonic();
    let streamed: StreamedAnswer | null = null;
    const record = (status: number | null, error: string | null) =>
      this.#attempts.push({
        model: model.id,
        upstream: `${upstream.adapter}:${upstream.model}`,
        status,
        error,
        latency_ms: roundMs(this.#on.clock.monotonic() - startedAt),
      });
    try {
      const answer = request.streamedAnswer(model);
      streamed = answer;
      this.#current = { model, streamed };
      const received = await runExchange({
        maker: this.#on.catalog.maker(upstream.adapter),
        request: {
          type: this.#type,
          upstream,
          ...request.toUpstream(model, upstream, outputTokensMax),
          stream: answer !== null,
          requestId: this.#head.request_id,
        },
        remainingMs: this.#remainingMs(),
        streams: (contentType) => answer?.takes(contentType) ?? false,
        onStream: (bytes, contentType) => this.#forward(model, answer as StreamedAnswer, bytes, contentType),
        drained: () => this.#mayGoOn(),
        hasBegun: () => answer?.forwarded ?? false,
        onStarted: (abandon) => {
          this.#abandon = abandon;
          if (this.#call.isCancelled) abandon();
        },
        onFirstByte: () => {
          this.#firstByteMs = roundMs(this.#on.clock.monotonic() - this.#startedAt);
        },
      });
      if (received.body !== null && answer !== null) throw unstreamed(received.body, received.contentType);
      if (received.body === null)
        this.#endStream(model, answer as StreamedAnswer, received.contentType, record);
      else this.#endWhole(model, request, received.body, record);
      pass.answered();
      return true;
    } catch (error) {
      if (this.#call.isCancelled) {
        pass.abandoned();
        return true;
      }
      const exceeded = this.#budget?.exceeded;
      if (exceeded && error === exceeded && streamed) {
        pass.answered();
        record(200, exceeded.message);
        this.#endOverBudget(model, streamed, exceeded);
        return true;
      }
      const failure = faultOf(error);
      if (failure.kind === 'timeout' && this.#remainingMs() < ATTEMPT_WORTH_MS) pass.abandoned();
      else pass.failed(failure);
      record(failure.status, failure.message);
      this.#failures.push(failure);
      this.#on.logger.debug(
        { err: error, model: model.id, request: this.#head.request_id },
        'an attempt failed',
      );
      if (!streamed?.forwarded) {
        this.#firstByteMs = null; // what this attempt had is of no use, and charges nothing
        return false;
      }
      this.#breakOff(model, streamed, failure);
      return true;
    }
  }

  async #reserve(model: CatalogModel, request: ModelRequest, pass: Pass): Promise<number | undefined> {
    try {
      return await this.#budget?.reserve(request.expected(model), this.#call.signal);
    } catch (error) {
      pass.abandoned();
      throw error;
    }
  }

  #forward(model: CatalogModel, streamed: StreamedAnswer, bytes: Buffer, contentType: string): boolean {
    const out = streamed.push(bytes);
    const covered = this.#budget?.covers(model, streamed, this.#call.signal) ?? true;
    if (out === null) return covered;
    this.#call.setHead(streamed.head(contentType));
    return this.#call.write(out) && covered;
  }

  async #mayGoOn(): Promise<void> {
    await this.#budget?.room();
    await this.#call.drained();
  }

  /** The stream ends with an error event; what was produced until here is charged. */
  #endOverBudget(model: CatalogModel, streamed: StreamedAnswer, error: ServiceError): void {
    const { price, basis } = streamed.produced();
    const outcome: Outcome = {
      status: 'error',
      http_status: 200,
      error_code: error.code,
      basis,
      model,
      price,
    };
    const lastWords = streamed.lastWords(error, this.#head.request_id);
    if (lastWords !== null) return this.#finish(outcome, lastWords);
    void this.#on.events.publish(this.#event(outcome));
    this.#call.fail(error.asLogged());
  }

  #endStream(
    model: CatalogModel,
    streamed: StreamedAnswer,
    contentType: string,
    record: (status: number, error: null) => void,
  ): void {
    const { last, price, basis } = streamed.finish();
    record(200, null);
    this.#call.setHead(streamed.head(contentType));
    this.#finish({ status: 'ok', http_status: 200, error_code: null, basis, model, price }, last);
  }

  #endWhole(
    model: CatalogModel,
    request: ModelRequest,
    answer: Buffer,
    record: (status: number, error: null) => void,
  ): void {
    const { contentType, body, price, basis } = request.finish(model, answer);
    record(200, null);
    const head = { status: 200, content_type: contentType, cost: price.cost, content_length: body.length };
    this.#call.setHead(head satisfies ModelReplyHead);
    this.#finish({ status: 'ok', http_status: 200, error_code: null, basis, model, price }, body);
  }

  /** After the first byte there is no falling back: the stream ends, visibly unfinished, and costs nothing. */
  #breakOff(model: CatalogModel, streamed: StreamedAnswer, failure: Failure): void {
    const error = toServiceError([failure], {});
    const outcome: Outcome = {
      status: 'error',
      http_status: 200,
      error_code: error.code,
      basis: null,
      model,
      price: FREE,
    };
    const lastWords = streamed.lastWords(error, this.#head.request_id);
    if (lastWords !== null) return this.#finish(outcome, lastWords);
    void this.#on.events.publish(this.#event(outcome));
    this.#call.fail(error.asLogged());
  }

  #finish(outcome: Outcome, last: Buffer): void {
    this.#call.end({ cost: outcome.price.cost }, last, this.#event(outcome));
  }

  /** No answer: the event tells why, at no cost. It need not be waited for. */
  #refuse(thrown: unknown): void {
    const error =
      thrown instanceof ServiceError
        ? thrown
        : new ServiceError('internal_error', 'an internal error; it was logged', { cause: thrown });
    if (error.code === 'internal_error')
      this.#on.logger.error(
        { err: thrown, request: this.#head.request_id },
        'a call failed with an error that nobody expected',
      );
    const status = this.#attempts.length > 0 && !REFUSALS.has(error.code) ? 'error' : 'refused';
    const outcome: Outcome = {
      status,
      http_status: error.status,
      error_code: error.code,
      basis: null,
      model: this.#current?.model ?? null,
      price: FREE,
    };
    void this.#on.events.publish(this.#event(outcome));
    this.#call.fail(error.asLogged());
  }

  /** The upstream call ends at once; what the maker produced until then is charged. */
  #callerGone(): void {
    this.#abandon?.();
    const { model, streamed } = this.#current ?? {};
    const produced = () => streamed?.produced() ?? (model && this.#request?.produced(model));
    const used = this.#firstByteMs === null ? null : produced();
    const outcome: Outcome = {
      status: 'cancelled',
      http_status: 499,
      error_code: null,
      basis: used?.basis ?? null,
      model: model ?? null,
      price: used?.price ?? FREE,
    };
    void this.#on.events.publish(this.#event(outcome));
  }

  /** Every call ends with one: what it held is given back here. */
  #event({ status, http_status, error_code, basis, model, price }: Outcome) {
    this.#budget?.settle(price.costNano);
    const { request_id, org, key_id, models, stream } = this.#head;
    return makeEvent({
      name: 'call.completed',
      id: eventIds.call(request_id),
      source: EVENT_SOURCE,
      time: new Date(this.#on.clock.now()),
      data: {
        request_id,
        org,
        key_id,
        type: this.#type,
        path: MODEL_TYPES[this.#type].endpoint.slice('POST '.length),
        requested_model: models[0] as string,
        model: model?.id ?? null,
        maker: model ? makerOf(model) : null,
        status,
        http_status,
        error_code,
        stream,
        cost_nano: price.costNano.toString(),
        basis,
        lines: price.lines,
        quantities: price.quantities,
        latency_ms: roundMs(this.#on.clock.monotonic() - this.#startedAt),
        first_byte_ms: this.#firstByteMs,
        attempts: this.#attempts,
      },
    });
  }

  #remainingMs(): number {
    return this.#on.callTimeoutMs - (this.#on.clock.monotonic() - this.#startedAt);
  }
}

/** Errors that are about the request, though a maker or its adapter had to be asked to know. */
const REFUSALS: ReadonlySet<string> = new Set(['upstream_rejected', 'invalid_request']);

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
