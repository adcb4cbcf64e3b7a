// An answer as server-sent events. Complete events are passed on at once, with the catalog's model name. The usage
// event and the end of the stream wait until the cost is known and the usage event is stored. Everything before the
// first token (comments, a role, a maker's metadata) waits for that token, so that a fallback stays possible.
// The text is held as latin1, one character per byte: nothing is decoded, and only intended bytes change.
import {
  type CatalogModel,
  type ModelReplyHead,
  type ServiceError,
  toErrorBody,
} from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { FREE, type Price, priceTokens, readUsage, type TokenUsage } from '../spending/pricing.ts';
import { inputTokensOf, readRequest } from '../spending/request-price.ts';
import { choicesOf, contentLength, emptyAnswer, hasContent } from './chat-content.ts';
import { type Chunk, dataOf, EVENT_END, hasNoChoices, putUsage, refuseError, usageOf } from './sse-events.ts';
import type { StreamEnd, StreamedAnswer } from './streamed-answer.ts';
import { usageWithCost } from './usage-with-cost.ts';
import { WholeEvents } from './whole-events.ts';

/** Maximum size of everything before the first token. */
const PRELUDE_BYTES_MAX = 1024 * 1024;

/** Length of a possible `[DONE]` with whitespace around it. */
const DONE_LENGTH_MAX = 32;
const IS_DONE = /^data: ?\[DONE\]/m;
const IS_DATA = /^data:/m;
const FINISH_REASON = /"finish_reason": ?"/;

const HEAD: ModelReplyHead = { status: 200, content_type: 'text/event-stream; charset=utf-8' };

interface SseOptions {
  /** The caller's own body. */
  request: Buffer;
  includeUsage: boolean;
}

export class SseAnswer implements StreamedAnswer {
  readonly #model: CatalogModel;
  readonly #request: Buffer;
  /** The caller asked for OpenAI's extra usage chunk. Otherwise the usage goes into the last chunk. */
  readonly #includeUsage: boolean;
  readonly #stream = new WholeEvents();
  #events = 0;
  /** Bytes of text in the events. */
  #contentBytes = 0;
  #forwarded = false;
  /** Whether the model has produced content. */
  #begun = false;
  /** Events before the first content. */
  #prelude = '';
  #done = false;
  #finishReason: string | null = null;
  /** `"model":"…"` as this upstream writes it; known from the first event with a model. */
  #modelAsWritten: string | null = null;
  #id = '';
  #created = 0;
  /** Events that may be the last ones, already renamed: the one with the finish reason, the one with the usage. */
  #held: string[] = [];
  #givenUsage: unknown = null;
  #usage: TokenUsage | null = null;
  /** Estimated once, since a budget asks for it on every chunk. */
  #inputTokens: number | null = null;

  constructor(model: CatalogModel, { request, includeUsage }: SseOptions) {
    this.#model = model;
    this.#request = request;
    this.#includeUsage = includeUsage;
  }

  /** Whether any byte was sent to the caller; afterwards no fallback is possible. */
  get forwarded(): boolean {
    return this.#forwarded;
  }

  get ended(): boolean {
    return this.#done;
  }

  takes(contentType: string): boolean {
    return contentType.startsWith('text/event-stream');
  }

  head(): ModelReplyHead {
    return HEAD;
  }

  /** An error event without `[DONE]`. */
  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(`data: ${JSON.stringify(toErrorBody(error, requestId))}\n\n`);
  }

  /**
   * Takes bytes of the upstream; returns the bytes to pass on now, if any.
   * @throws UnusableAnswer when the stream reports an error or is not an event stream.
   */
  push(bytes: Buffer): Buffer | null {
    const events = this.#stream.push(bytes);
    return events === '' ? null : this.#take(events);
  }

  /** @throws UnusableAnswer when the stream was cut (no [DONE] and no finish reason) or has no content. */
  finish(): StreamEnd {
    const before = this.#forwarded;
    const { rest } = this.#stream;
    const last = rest.trim() === '' ? '' : (this.#take(`${rest}\n\n`)?.toString('latin1') ?? '');
    this.#forwarded = before; // `last` is not sent yet
    if (!this.#done && this.#finishReason === null)
      throw new UnusableAnswer(this.#events === 0 ? 'the stream has no events' : 'the stream was cut short');
    const empty = this.#begun ? null : emptyAnswer(this.#finishReason, readRequest(this.#request).stop);
    if (empty === 'nothing') throw new UnusableAnswer('the stream ended without an answer in it');
    const { price: full, basis } = this.produced();
    const price = empty === 'refusal' ? FREE : full;
    const end = `${this.#lastEvents(usageWithCost(this.#givenUsage, price))}data: [DONE]\n\n`;
    const prelude = this.#underOurName(this.#prelude);
    return { last: Buffer.from(prelude + last + end, 'latin1'), price, basis };
  }

  /** The held events with the usage in the last one, or in an event after them. */
  #lastEvents(usage: string): string {
    const held = this.#held;
    const separate = held.findLast(hasNoChoices);
    if (this.#includeUsage) {
      const bearer = separate ?? held.findLast((event) => usageOf(event) !== null);
      return bearer === undefined
        ? held.join('') + this.#ownUsageEvent(usage)
        : held.map((event) => (event === bearer ? putUsage(event, usage) : event)).join('');
    }
    // The caller did not ask for a chunk without choices, and readers of `choices[0]` would fail on it.
    const wanted = held.filter((event) => event !== separate);
    const last = wanted.pop();
    return last === undefined ? this.#ownUsageEvent(usage) : wanted.join('') + putUsage(last, usage);
  }

  /** The output so far, by the maker's count if there is one, otherwise estimated. */
  produced(): { price: Price; basis: 'upstream' | 'estimated' } {
    if (this.#usage) return { price: priceTokens(this.#model, this.#usage), basis: 'upstream' };
    // Makers send one or several tokens per event.
    this.#inputTokens ??= inputTokensOf(this.#model.type, readRequest(this.#request));
    const estimate = {
      inputTokens: this.#inputTokens,
      cachedInputTokens: 0,
      outputTokens: Math.max(this.#events, estimateTokens(this.#contentBytes)),
    };
    return { price: priceTokens(this.#model, estimate), basis: 'estimated' };
  }

  #take(events: string): Buffer | null {
    const ending = this.#read(events);
    const plain = this.#held.length === 0 && !ending;
    const out = plain ? events : this.#sift(events);
    if (!this.#begun) {
      this.#prelude += out;
      if (this.#prelude.length > PRELUDE_BYTES_MAX)
        throw new UnusableAnswer('the stream goes on and on without a token in it');
      return null;
    }
    if (out === '' && this.#prelude === '') return null;
    const now = this.#prelude + out;
    this.#prelude = '';
    this.#forwarded = true;
    return Buffer.from(this.#underOurName(now), 'latin1');
  }

  /**
   * Reads the events without changing them; returns true when one may be among the last.
   * @throws UnusableAnswer for an event that is not JSON; ReportedError for an event that reports an error.
   */
  #read(events: string): boolean {
    let ending = false;
    for (const event of events.split(EVENT_END)) {
      const data = dataOf(event);
      if (data !== null && this.#readData(data, event)) ending = true;
    }
    return ending;
  }

  #readData(data: string, event: string): boolean {
    if (data.length < DONE_LENGTH_MAX && data.trim() === '[DONE]') {
      if (this.#events === 0) throw new UnusableAnswer('the stream ended before its first event');
      return true;
    }
    const chunk = this.#parse(data);
    if (this.#modelAsWritten === null) this.#introduce(chunk, data);
    refuseError(event, chunk);
    this.#events += 1;
    let ending = typeof chunk.usage === 'object' && chunk.usage !== null;
    for (const choice of choicesOf(chunk)) {
      if (!this.#begun) this.#begun = hasContent(choice);
      this.#contentBytes += contentLength(choice);
      if (typeof choice.finish_reason !== 'string' || choice.finish_reason === '') continue;
      this.#finishReason = choice.finish_reason;
      ending = true;
    }
    return ending;
  }

  #parse(data: string): Chunk {
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch (cause) {
      const which = this.#events === 0 ? 'the first event' : 'an event';
      throw new UnusableAnswer(`${which} of the stream is not JSON`, { cause });
    }
    if (typeof chunk === 'object' && chunk !== null) return chunk;
    throw new UnusableAnswer('an event of the stream is no JSON object');
  }

  /** Scans the events one by one, holds back those that may be the last, and drops `[DONE]`. */
  #sift(events: string): string {
    let out = '';
    for (const event of events.split(EVENT_END)) {
      if (event.trim() === '') continue;
      if (IS_DONE.test(event)) {
        this.#done = true;
        continue;
      }
      const usage = usageOf(event);
      if (usage !== null) {
        this.#givenUsage = usage;
        this.#usage = readUsage(usage) ?? this.#usage;
      }
      const whole = this.#underOurName(`${event}\n\n`);
      if (!IS_DATA.test(event)) {
        out += whole; // a comment keeps the connection alive in any position
        continue;
      }
      if (this.#held.length > 0 && !hasNoChoices(event)) {
        out += this.#held.join(''); // the held events are not the last
        this.#held = [];
      }
      if (usage !== null || FINISH_REASON.test(event) || this.#held.length > 0) this.#held.push(whole);
      else out += whole;
    }
    return out;
  }

  /** Learns from the first event with a model how the upstream writes it. */
  #introduce({ id, created, model }: Chunk, data: string): void {
    if (typeof id === 'string') this.#id = Buffer.from(id, 'latin1').toString('utf8');
    if (typeof created === 'number') this.#created = created;
    // Azure's first event reports its filters and has an empty id and model; the next event has them.
    if (model !== '') this.#modelAsWritten = /"model": ?"(?:[^"\\]|\\.)*"/.exec(data)?.[0] ?? '';
  }

  #underOurName(events: string): string {
    return this.#modelAsWritten
      ? events.replaceAll(this.#modelAsWritten, `"model":"${this.#model.id}"`)
      : events;
  }

  #ownUsageEvent(usage: string): string {
    const head = {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model.id,
    };
    const text = JSON.stringify({ ...head, choices: [] });
    return `data: ${text.slice(0, -1)},"usage":${usage}}\n\n`;
  }
}
