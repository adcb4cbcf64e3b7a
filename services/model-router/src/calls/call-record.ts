// Data of one call's usage event: its attempts, its times, and its outcome.
import {
  type CatalogModel,
  DIALECTS,
  type EventData,
  eventIds,
  type LogAttempt,
  MODEL_TYPES,
  type ModelCallHead,
  type ModelType,
  makeEvent,
  type Upstream,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { makerOf } from '../catalog/catalog.ts';
import type { Price } from '../spending/pricing.ts';
import type { Skip } from './circuits.ts';

const EVENT_SOURCE = '/switchyard/model-router';

type Completed = EventData<'call.completed'>;

/** How a call ended, and what is charged for it. */
export type Outcome = Pick<Completed, 'status' | 'http_status' | 'error_code' | 'basis'> & {
  model: CatalogModel | null;
  price: Price;
};

export interface Candidate {
  model: CatalogModel;
  upstream: Upstream;
}

export class CallRecord {
  readonly attempts: LogAttempt[] = [];
  firstByteMs: number | null = null;
  readonly #type: ModelType;
  readonly #head: ModelCallHead;
  readonly #clock: Clock;
  readonly #callTimeoutMs: number;
  readonly #startedAt: number;

  constructor(type: ModelType, head: ModelCallHead, deps: { clock: Clock; callTimeoutMs: number }) {
    this.#type = type;
    this.#head = head;
    this.#clock = deps.clock;
    this.#callTimeoutMs = deps.callTimeoutMs;
    this.#startedAt = deps.clock.monotonic();
  }

  /** Milliseconds since the call arrived. */
  elapsedMs(): number {
    return roundMs(this.#clock.monotonic() - this.#startedAt);
  }

  /** Milliseconds left for the whole call. */
  remainingMs(): number {
    return this.#callTimeoutMs - (this.#clock.monotonic() - this.#startedAt);
  }

  /** @param startedAt monotonic time at which the attempt began */
  attempted(
    { model, upstream }: Candidate,
    startedAt: number,
    status: number | null,
    error: string | null,
  ): void {
    this.attempts.push({
      model: model.id,
      upstream: `${upstream.adapter}:${upstream.model}`,
      status,
      error,
      latency_ms: roundMs(this.#clock.monotonic() - startedAt),
    });
  }

  skipped({ model, upstream }: Candidate, { why, backInMs }: Skip): void {
    const forMs =
      backInMs > 0 ? `, for another ${Math.ceil(backInMs)} ms` : ', and another call is trying it';
    this.attempts.push({
      model: model.id,
      upstream: `${upstream.adapter}:${upstream.model}`,
      status: null,
      error: `skipped: ${why}${forMs}`,
      skipped: true,
      latency_ms: 0,
    });
  }

  /** The usage event, with the final state of the call. */
  event({ status, http_status, error_code, basis, model, price }: Outcome) {
    const { request_id, org, key_id, models, dialect, stream } = this.#head;
    const { tags, client_request_id, traceparent, markup_percent: markup } = this.#head;
    return makeEvent({
      name: 'call.completed',
      id: eventIds.call(request_id),
      source: EVENT_SOURCE,
      time: new Date(this.#clock.now()),
      markup,
      data: {
        request_id,
        org,
        key_id,
        type: this.#type,
        path: dialect ? DIALECTS[dialect].path : MODEL_TYPES[this.#type].endpoint.slice('POST '.length),
        ...(dialect ? { dialect } : {}),
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
        latency_ms: this.elapsedMs(),
        first_byte_ms: this.firstByteMs,
        attempts: this.attempts,
        ...{ tags, client_request_id, traceparent },
      },
    });
  }
}

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
