// A request in another dialect than chat. Its bytes pass through to a maker that speaks the dialect. For others it
// becomes a chat request, so holds, limits, prices and fallbacks are chat's, and its answers are translated back.
import {
  type CatalogModel,
  type Dialect,
  type ModelCallHead,
  ServiceError,
  type Upstream,
} from '@switchyard/contracts';
import type { InputTokens } from '../answers/event-stream.ts';
import { upstreamBody } from '../answers/request-body.ts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import type { ChatCompletion } from '../dialects/chat-shapes.ts';
import type { DialectBody, Translate, Translation } from '../dialects/dialect.ts';
import { flattenContent } from '../dialects/flat-content.ts';
import type { NativeDialect } from '../dialects/native-dialect.ts';
import { NATIVE } from '../dialects/registry.ts';
import { TranslatedStream } from '../dialects/translated-stream.ts';
import { parseExactly } from '../json/exact-integers.ts';
import { repeatsMembers } from '../json/json-members.ts';
import { unsupported } from '../makers/failure.ts';
import type { Maker, UpstreamRequest } from '../makers/maker.ts';
import { type Expected, expectedCost } from '../spending/expected-cost.ts';
import type { Price } from '../spending/pricing.ts';
import { inputTokensOf, type RequestJson } from '../spending/request-price.ts';
import { JsonRequest } from './json-request.ts';
import type { FinishedAnswer, ModelRequest } from './model-request.ts';

export class TranslatedRequest implements ModelRequest {
  readonly #translation: Translation;
  readonly #chatJson: RequestJson;
  readonly #chat: JsonRequest;
  readonly #body: Buffer;
  readonly #head: ModelCallHead;
  readonly #makers: Readonly<Record<string, Maker>>;
  readonly #parsed: DialectBody;
  /** Output tokens that the caller grants to thinking. */
  readonly #thinkingTokens: number;
  readonly #inputTokens: InputTokens = () => inputTokensOf('language', this.#chatJson);

  /** @throws ServiceError `invalid_request` */
  constructor(
    translate: Translate,
    body: Buffer,
    head: ModelCallHead,
    makers: Readonly<Record<string, Maker>>,
  ) {
    this.#body = body;
    this.#head = head;
    this.#makers = makers;
    this.#parsed = parseExactly(body.toString('utf8')) as DialectBody;
    const thinking = this.#parsed.thinking as { budget_tokens?: number } | undefined;
    this.#thinkingTokens = thinking?.budget_tokens ?? 0;
    this.#translation = translate(this.#parsed, { requestId: head.request_id, receivedAt: head.received_at });
    const { chat, hints } = this.#translation;
    this.#chatJson = { ...chat, ...hints };
    this.#chat = new JsonRequest('language', Buffer.from(JSON.stringify(this.#chatJson)), head);
  }

  refusalOf(model: CatalogModel): ServiceError | null {
    const { nativeOnly = null } = this.#translation;
    const refusal = model.upstreams.some((one) => this.#nativeFor(one)) ? null : nativeOnly;
    return this.#chat.refusalOf(model) ?? refusal;
  }

  expected(model: CatalogModel): Expected {
    const natives = model.upstreams.flatMap((one) => this.#nativeFor(one) ?? []);
    // The translation drops the marks for Anthropic's cache, but a native request keeps them.
    const marked = natives.length > 0 ? this.#parsed : this.#chatJson;
    const expected = expectedCost(model, this.#chatJson, this.#head.stream, marked);
    const { outputTokensWithin } = expected;
    if (!outputTokensWithin || natives.length === 0) return expected;
    const least = Math.max(...natives.map(({ outputTokensMin }) => outputTokensMin));
    return {
      ...expected,
      outputTokensWithin: (amount) => {
        const tokens = outputTokensWithin(amount);
        // The maker refuses a token limit that is not above the thinking tokens, or below its minimum.
        if (tokens <= this.#thinkingTokens)
          throw endOfBudget('thinking.budget_tokens. Lower it, or raise the budget.');
        if (tokens < least)
          throw endOfBudget(`the ${least} output tokens that the model needs. Raise the budget.`);
        return tokens;
      },
    };
  }

  toUpstream(
    model: CatalogModel,
    upstream: Upstream,
    outputTokensMax?: number,
  ): Pick<UpstreamRequest, 'body' | 'native'> {
    const native = this.#nativeFor(upstream);
    if (native) {
      const { lengths } = native;
      const body = native.body(this.#unambiguous(), model);
      return {
        body: upstreamBody(body, { model: upstream.model, stream: false, outputTokensMax, lengths }),
        native: { dialect: this.#head.dialect as Dialect, headers: native.headers(this.#head) },
      };
    }
    const { nativeOnly, chat, hints = {} } = this.#translation;
    if (nativeOnly) throw unsupported(nativeOnly);
    const { supported_parameters: supported } = model;
    const takesHints = supported.length === 0 || Object.keys(hints).every((name) => supported.includes(name));
    if (takesHints) return this.#chat.toUpstream(model, upstream, outputTokensMax);
    const withoutHints = Buffer.from(JSON.stringify(chat));
    const { stream } = this.#head;
    return { body: upstreamBody(withoutHints, { model: upstream.model, stream, outputTokensMax }) };
  }

  streamedAnswer(model: CatalogModel, upstream: Upstream): StreamedAnswer | null {
    const native = this.#nativeFor(upstream);
    if (native) return this.#head.stream ? native.stream(model, this.#body, this.#inputTokens) : null;
    const chat = this.#chat.streamedAnswer(model);
    return chat && new TranslatedStream(chat, this.#translation.stream());
  }

  finish(model: CatalogModel, answer: Buffer, upstream: Upstream): FinishedAnswer {
    const native = this.#nativeFor(upstream);
    if (native)
      return { contentType: 'application/json', ...native.finish(model, answer, this.#inputTokens) };
    const chat = this.#chat.finish(model, answer);
    const completion = JSON.parse(chat.body.toString('utf8')) as ChatCompletion;
    flattenContent(completion);
    return { ...chat, body: Buffer.from(JSON.stringify(this.#translation.answer(completion))) };
  }

  accepted(model: CatalogModel): Price {
    return this.#chat.accepted(model);
  }

  /** The caller's bytes; rewritten if a maker could read other members in them than were checked. */
  #unambiguous(): Buffer {
    return repeatsMembers(this.#body, this.#parsed) ? Buffer.from(JSON.stringify(this.#parsed)) : this.#body;
  }

  #nativeFor({ adapter }: Upstream): NativeDialect | null {
    const { dialect } = this.#head;
    if (!dialect || !this.#makers[adapter]?.speaks?.includes(dialect)) return null;
    const native = NATIVE[dialect];
    return native?.serves(this.#parsed) ? native : null;
  }
}

function endOfBudget(what: string): ServiceError {
  return new ServiceError('budget_exceeded', `The budget does not cover ${what}`);
}
