// A request whose body is the caller's own JSON; only the model's name changes.
import type { CatalogModel, ModelCallHead, ModelType, ServiceError, Upstream } from '@switchyard/contracts';
import { AudioAnswer } from '../answers/audio-answer.ts';
import { upstreamBody } from '../answers/request-body.ts';
import { SseAnswer } from '../answers/sse-answer.ts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import { finishWholeAnswer } from '../answers/whole-answer.ts';
import { type Expected, expectedCost } from '../spending/expected-cost.ts';
import type { Price } from '../spending/pricing.ts';
import { priceAccepted, readRequest } from '../spending/request-price.ts';
import { refusalOf } from './model-limits.ts';
import type { FinishedAnswer, ModelRequest } from './model-request.ts';
import { PricedMembers } from './priced-members.ts';

export class JsonRequest implements ModelRequest {
  readonly #type: ModelType;
  readonly #body: Buffer;
  readonly #head: ModelCallHead;
  readonly #priced: PricedMembers;

  /** @throws ServiceError `invalid_request` */
  constructor(type: ModelType, body: Buffer, head: ModelCallHead) {
    this.#type = type;
    this.#body = body;
    this.#head = head;
    this.#priced = new PricedMembers(type, body);
  }

  refusalOf(model: CatalogModel): ServiceError | null {
    return this.#priced.refusalOf(model) ?? refusalOf(model, this.#body);
  }

  expected(model: CatalogModel): Expected {
    return expectedCost(model, readRequest(this.#body), this.#head.stream);
  }

  toUpstream(_model: CatalogModel, { model }: Upstream, outputTokensMax?: number): { body: Buffer } {
    return { body: upstreamBody(this.#body, { model, stream: this.#head.stream, outputTokensMax }) };
  }

  streamedAnswer(model: CatalogModel): StreamedAnswer | null {
    const { stream, include_usage: includeUsage } = this.#head;
    if (this.#type === 'language' && stream)
      return new SseAnswer(model, { request: this.#body, includeUsage });
    if (this.#type === 'speech') return new AudioAnswer(model, readRequest(this.#body).input as string);
    return null;
  }

  finish(model: CatalogModel, answer: Buffer): FinishedAnswer {
    return { contentType: 'application/json', ...finishWholeAnswer(model, this.#body, answer) };
  }

  accepted(model: CatalogModel): Price {
    return priceAccepted(model, readRequest(this.#body));
  }
}
