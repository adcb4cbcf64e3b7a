// A request whose body is the caller's own JSON: it goes on as it is but for the model's name.
import type { CatalogModel, ModelCallHead, ModelType, ServiceError, Upstream } from '@switchyard/contracts';
import { upstreamBody } from '../answers/request-body.ts';
import { type StreamedAnswer, streamedAnswer } from '../answers/streamed-answer.ts';
import { finishWholeAnswer } from '../answers/whole-answer.ts';
import { type Expected, expectedCost } from '../spending/expected-cost.ts';
import { estimateInputTokens } from './input-tokens.ts';
import { refusalOf } from './model-limits.ts';
import type { FinishedAnswer, ModelRequest } from './model-request.ts';
import { priceTokens } from './pricing.ts';

export class JsonRequest implements ModelRequest {
  readonly #type: ModelType;
  readonly #body: Buffer;
  readonly #head: ModelCallHead;

  constructor(type: ModelType, body: Buffer, head: ModelCallHead) {
    this.#type = type;
    this.#body = body;
    this.#head = head;
  }

  refusalOf(model: CatalogModel): ServiceError | null {
    return refusalOf(model, this.#body);
  }

  expected(model: CatalogModel): Expected {
    return expectedCost(model, this.#body);
  }

  toUpstream(_model: CatalogModel, { model }: Upstream, outputTokensMax?: number): { body: Buffer } {
    return { body: upstreamBody(this.#body, { model, stream: this.#head.stream, outputTokensMax }) };
  }

  streamedAnswer(model: CatalogModel): StreamedAnswer | null {
    return streamedAnswer(this.#type, model, this.#body, this.#head);
  }

  finish(model: CatalogModel, answer: Buffer): FinishedAnswer {
    return { contentType: 'application/json', ...finishWholeAnswer(model, this.#body, answer) };
  }

  produced(model: CatalogModel): Pick<FinishedAnswer, 'price' | 'basis'> {
    const inputTokens = estimateInputTokens(this.#body);
    return {
      price: priceTokens(model, { inputTokens, cachedInputTokens: 0, outputTokens: 0 }),
      basis: 'estimated',
    };
  }
}
