// One model call, from its head to its usage event: resolve, attempt, fall back, price, emit, answer.
import type { EventPublisher, IncomingCall } from '@switchyard/bus';
import {
  type CatalogModel,
  type EventData,
  eventIds,
  type LogAttempt,
  MODEL_BODY_BYTES_MAX,
  MODEL_TYPES,
  type ModelCallHead,
  type ModelReplyHead,
  type ModelType,
  makeEvent,
  modelCallHead,
  ServiceError,
  type Upstream,
} from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import { upstreamBody } from '../answers/request-body.ts';
import { type StreamedAnswer, streamedAnswer } from '../answers/streamed-answer.ts';
import { UnusableAnswer } from '../answers/unusable-answer.ts';
import { finishWholeAnswer } from '../answers/whole-answer.ts';
import { type Catalog, makerOf } from '../catalog/catalog.ts';
import type { Exchange } from '../makers/maker.ts';
import { runExchange } from './exchange.ts';
import { type Failure, faultOf, toServiceError } from './failure.ts';
import { refusalOf } from './model-limits.ts';
import { estimateTokens, FREE, type Price, priceTokens } from './pricing.ts';

export const EVENT_SOURCE = '/switchyard/model-router';
/** The whole call, all attempts together: under the ten minutes at which clients give up. */
export const CALL_TIMEOUT_MS = 570_000;
/** Below this nothing is worth starting. */
const ATTEMPT_WORTH_MS = 100;

export interface ModelCallSurroundings {
  catalog: Catalog;
  events: EventPublisher;
  clock: Clock;
  logger: Logger;
}

type Completed = EventData<'call.completed'>;
type Outcome = Pick<Completed, 'status' | 'http_status' | 'error_code' | 'basis'> & {
  model: CatalogModel | null;
  price: Price;
};

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
  #exchange: Exchange | null = null;
  #current: { model: CatalogModel; streamed: StreamedAnswer | null } | null = null;
  #requestBytes = 0;

  constructor(on: ModelCallSurroundings, type: ModelType, call: IncomingCall) {
    this.#on = on;
    this.#type = type;
    this.#call = call;
    this.#head = modelCallHead.parse(call.head);
    this.#startedAt = on.clock.monotonic();
  }

  async run(): Promise<void> {
    this.#call.onCancelled(() => this.#callerGone());
    try {
      const models = this.#on.catalog.resolve(this.#head.models, this.#type);
      const body = await this.#call.readBody(MODEL_BODY_BYTES_MAX);
      this.#requestBytes = body.length;
      await this.#attemptEach(models, body);
    } catch (error) {
      if (this.#call.isCancelled) return; // its event is out already
      this.#refuse(error);
    }
  }

  async #attemptEach(models: CatalogModel[], body: Buffer): Promise<void> {
    const [first] = models;
    const able = models.filter((model) => {
      const refusal = refusalOf(model, body);
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
    for (const { model, upstream } of candidates) {
      if (this.#call.isCancelled || this.#remainingMs() < ATTEMPT_WORTH_MS) break;
      if (await this.#attempt(model, upstream, body)) return;
      if (this.#failures.at(-1)?.kind === 'rejected') break;
    }
    if (!this.#call.isCancelled) throw toServiceError(this.#failures, { attempts: this.#attempts });
  }

  /** True when the call has ended with this attempt, well or badly; false when another may be made. */
  async #attempt(model: CatalogModel, upstream: Upstream, body: Buffer): Promise<boolean> {
    this.#firstByteMs = null; // what an earlier attempt had is of no use, and charges nothing
    const startedAt = this.#on.clock.monotonic();
    const streamed = streamedAnswer(this.#type, model, body, this.#head);
    this.#current = { model, streamed };
    const record = (status: number | null, error: string | null) =>
      this.#attempts.push({
        model: model.id,
        upstream: `${upstream.adapter}:${upstream.model}`,
        status,
        error,
        latency_ms: roundMs(this.#on.clock.monotonic() - startedAt),
      });
    try {
      const received = await runExchange({
        maker: this.#on.catalog.maker(upstream.adapter),
        request: {
          type: this.#type,
          upstream,
          body: upstreamBody(body, { model: upstream.model, stream: this.#head.stream }),
          stream: streamed !== null,
          requestId: this.#head.request_id,
        },
        remainingMs: this.#remainingMs(),
        streams: (contentType) => streamed?.takes(contentType) ?? false,
        onStream: (bytes, contentType) => this.#forward(streamed as StreamedAnswer, bytes, contentType),
        drained: () => this.#call.drained(),
        onStarted: (exchange) => {
          this.#exchange = exchange;
          if (this.#call.isCancelled) exchange.abort();
        },
        onFirstByte: () => {
          this.#firstByteMs = roundMs(this.#on.clock.monotonic() - this.#startedAt);
        },
      });
      if (this.#call.isCancelled) return true;
      if (received.body !== null && streamed !== null)
        throw new UnusableAnswer(`the upstream did not stream: it sent ${received.contentType}`);
      if (received.body === null)
        this.#endStream(model, streamed as StreamedAnswer, received.contentType, record);
      else this.#endWhole(model, body, received.body, record);
      return true;
    } catch (error) {
      if (this.#call.isCancelled) return true;
      const failure = faultOf(error);
      record(failure.status, failure.message);
      this.#failures.push(failure);
      this.#on.logger.debug(
        { err: error, model: model.id, request: this.#head.request_id },
        'an attempt failed',
      );
      if (!streamed?.forwarded) return false;
      this.#breakOff(model, streamed, failure);
      return true;
    }
  }

  #forward(streamed: StreamedAnswer, bytes: Buffer, contentType: string): boolean {
    const out = streamed.push(bytes);
    if (out === null) return true;
    this.#call.setHead(streamed.head(contentType));
    return this.#call.write(out);
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
    request: Buffer,
    answer: Buffer,
    record: (status: number, error: null) => void,
  ): void {
    const { body, price, basis } = finishWholeAnswer(model, request, answer);
    record(200, null);
    this.#call.setHead({ ...JSON_HEAD, cost: price.cost, content_length: body.length });
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
    const status = this.#attempts.length > 0 && error.code !== 'upstream_rejected' ? 'error' : 'refused';
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
    this.#exchange?.abort();
    const { model, streamed } = this.#current ?? {};
    const used = model && this.#firstByteMs !== null ? this.#produced(model, streamed ?? null) : null;
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

  #produced(
    model: CatalogModel,
    streamed: StreamedAnswer | null,
  ): { price: Price; basis: 'upstream' | 'estimated' } {
    if (streamed) return streamed.produced();
    const inputTokens = estimateTokens(this.#requestBytes);
    return {
      price: priceTokens(model, { inputTokens, cachedInputTokens: 0, outputTokens: 0 }),
      basis: 'estimated',
    };
  }

  #event({ status, http_status, error_code, basis, model, price }: Outcome) {
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
    return CALL_TIMEOUT_MS - (this.#on.clock.monotonic() - this.#startedAt);
  }
}

const JSON_HEAD: ModelReplyHead = { status: 200, content_type: 'application/json' };

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
