// A request in another dialect than chat. The chat request that it is translated to takes the path of every call, so
// holds, limits, prices and fallbacks are chat's; only its answers are translated back.
import type { CatalogModel, ModelCallHead, ServiceError, Upstream } from '@switchyard/contracts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import type { ChatCompletion } from '../dialects/chat-shapes.ts';
import type { DialectBody, Translate, Translation } from '../dialects/dialect.ts';
import { TranslatedStream } from '../dialects/translated-stream.ts';
import type { Expected } from '../spending/expected-cost.ts';
import type { Price } from '../spending/pricing.ts';
import { JsonRequest } from './json-request.ts';
import type { FinishedAnswer, ModelRequest } from './model-request.ts';

export class TranslatedRequest implements ModelRequest {
  readonly #translation: Translation;
  readonly #chat: JsonRequest;

  /** @throws ServiceError `invalid_request` */
  constructor(translate: Translate, body: Buffer, head: ModelCallHead) {
    const parsed = JSON.parse(body.toString('utf8')) as DialectBody;
    this.#translation = translate(parsed, { requestId: head.request_id, receivedAt: head.received_at });
    const { chat, hints } = this.#translation;
    // Hints come first: each has a comma behind it, so that it can be removed beside `models`.
    this.#chat = new JsonRequest('language', Buffer.from(JSON.stringify({ ...hints, ...chat })), head);
  }

  refusalOf(model: CatalogModel): ServiceError | null {
    return this.#chat.refusalOf(model);
  }

  expected(model: CatalogModel): Expected {
    return this.#chat.expected(model);
  }

  toUpstream(model: CatalogModel, upstream: Upstream, outputTokensMax?: number): { body: Buffer } {
    const { supported_parameters: supported } = model;
    const hints = supported.length === 0 ? [] : Object.keys(this.#translation.hints ?? {});
    const without = hints.filter((name) => !supported.includes(name));
    return this.#chat.toUpstream(model, upstream, outputTokensMax, without);
  }

  streamedAnswer(model: CatalogModel): StreamedAnswer | null {
    const chat = this.#chat.streamedAnswer(model);
    return chat && new TranslatedStream(chat, this.#translation.stream());
  }

  finish(model: CatalogModel, answer: Buffer): FinishedAnswer {
    const chat = this.#chat.finish(model, answer);
    const completion = JSON.parse(chat.body.toString('utf8')) as ChatCompletion;
    return { ...chat, body: Buffer.from(JSON.stringify(this.#translation.answer(completion))) };
  }

  accepted(model: CatalogModel): Price {
    return this.#chat.accepted(model);
  }
}
