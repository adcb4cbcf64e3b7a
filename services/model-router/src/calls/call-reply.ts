// What the caller gets: a stream, a whole body or an error. Each end publishes the call's usage event and settles its
// hold.
import type { EventPublisher, IncomingCall } from '@switchyard/bus';
import {
  type CatalogModel,
  type ModelCallHead,
  type ModelReplyHead,
  ServiceError,
} from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { StreamEnd, StreamedAnswer } from '../answers/streamed-answer.ts';
import type { CallBudget } from '../spending/call-budget.ts';
import { FREE } from '../spending/pricing.ts';
import type { CallRecord, Outcome } from './call-record.ts';
import type { FinishedAnswer } from './model-request.ts';

interface CallReplyDeps {
  call: IncomingCall;
  head: ModelCallHead;
  record: CallRecord;
  budget: CallBudget | null;
  events: EventPublisher;
  logger: Logger;
}

export class CallReply {
  readonly #deps: CallReplyDeps;

  constructor(deps: CallReplyDeps) {
    this.#deps = deps;
  }

  /** Passes bytes on; returns false when the caller reads slowly or more must be held first: wait for `drained`. */
  forward(model: CatalogModel, streamed: StreamedAnswer, bytes: Buffer, contentType: string): boolean {
    const { call, budget } = this.#deps;
    call.setHead(streamed.head(contentType)); // before the budget may end the stream
    if (budget?.exceeded) throw budget.exceeded; // before the bytes are charged
    const out = streamed.push(bytes);
    const covered = budget?.covers(model, () => streamed.produced().price.costNano, call.signal) ?? true;
    if (out === null) return covered;
    return call.write(out) && covered;
  }

  async drained(): Promise<void> {
    await this.#deps.budget?.room();
    await this.#deps.call.drained();
  }

  endStream(model: CatalogModel, streamed: StreamedAnswer, contentType: string, end: StreamEnd): void {
    const { last, price, basis } = end;
    this.#deps.call.setHead(streamed.head(contentType));
    this.#end({ status: 'ok', http_status: 200, error_code: null, basis, model, price }, last);
  }

  endWhole(model: CatalogModel, { contentType, body, price, basis }: FinishedAnswer): void {
    const head = { status: 200, content_type: contentType, cost: price.cost, content_length: body.length };
    this.#deps.call.setHead(head satisfies ModelReplyHead);
    this.#end({ status: 'ok', http_status: 200, error_code: null, basis, model, price }, body);
  }

  /** Ends a stream that has begun: it stays visibly unfinished, with an error event where its format has one. */
  breakOff(
    model: CatalogModel,
    streamed: StreamedAnswer,
    error: ServiceError,
    { price, basis }: Pick<Outcome, 'price' | 'basis'>,
  ): void {
    const outcome: Outcome = {
      status: 'error',
      http_status: 200,
      error_code: error.code,
      basis,
      model,
      price,
    };
    const lastWords = streamed.lastWords(error, this.#deps.head.request_id);
    if (lastWords !== null) this.#end(outcome, lastWords);
    else this.#fail(outcome, error);
  }

  /** Ends the call without an answer, at no cost. */
  refuse(thrown: unknown, model: CatalogModel | null): void {
    const { head, record, logger } = this.#deps;
    const error =
      thrown instanceof ServiceError
        ? thrown
        : new ServiceError('internal_error', 'Internal error. Report the request id to the operator.', {
            cause: thrown,
          });
    if (error.code === 'internal_error')
      logger.error({ err: thrown, request: head.request_id }, 'a call failed with an unexpected error');
    const status = record.attempts.length > 0 && !REFUSALS.has(error.code) ? 'error' : 'refused';
    const { status: http_status, code: error_code } = error;
    this.#fail({ status, http_status, error_code, basis: null, model, price: FREE }, error);
  }

  /** The caller left. */
  cancelled(model: CatalogModel | null, billed: Pick<Outcome, 'price' | 'basis'> | null): void {
    const { price, basis } = billed ?? { price: FREE, basis: null };
    this.#publish({ status: 'cancelled', http_status: 499, error_code: null, basis, model, price });
  }

  /** The last bytes wait for the event to be stored. */
  #end(outcome: Outcome, last: Buffer): void {
    const { cost, quantities } = outcome.price;
    const tokens = (quantities.input_tokens ?? 0) + (quantities.output_tokens ?? 0);
    this.#deps.call.end({ cost, tokens }, last, this.#event(outcome));
  }

  #fail(outcome: Outcome, error: ServiceError): void {
    this.#publish(outcome);
    this.#deps.call.fail(error.asLogged());
  }

  #publish(outcome: Outcome): void {
    this.#deps.events.publish(this.#event(outcome)).catch(() => {}); // logged by the publisher
  }

  #event(outcome: Outcome) {
    this.#deps.budget?.settle(outcome.price.costNano);
    return this.#deps.record.event(outcome);
  }
}

/** Errors about the request that only a maker or its adapter can detect. */
const REFUSALS: ReadonlySet<string> = new Set(['upstream_rejected', 'invalid_request']);
