// A stream of Anthropic, passed on event by event. Only our model name in message_start and the cost in the last
// message_delta are written into it. As in chat, everything before the first content waits for it, so that a fallback
// stays possible. The text is latin1, one character per byte.
import {
  ANTHROPIC_ERRORS,
  type CatalogModel,
  type ModelReplyHead,
  type ServiceError,
} from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import { dataOf, EVENT_END, lastEventEnd, putUsage } from '../../../answers/sse-events.ts';
import type { StreamEnd, StreamedAnswer } from '../../../answers/streamed-answer.ts';
import { withCost } from '../../../answers/usage-with-cost.ts';
import { ReportedError, UnusableAnswer } from '../../../makers/unusable-answer.ts';
import { FREE, priceTokens } from '../../../spending/pricing.ts';
import { type AnthropicUsage, estimatedUsage, isNothing, readAnthropicUsage } from './usage.ts';

/** Maximum size of one event, and of everything before the first content. */
const EVENT_BYTES_MAX = 1024 * 1024;
const PRELUDE_BYTES_MAX = 1024 * 1024;

/** `message_start` names the model before anything that a caller or a model wrote. */
const MODEL = /"model": ?"(?:[^"\\]|\\.)*"/;

const HEAD: ModelReplyHead = { status: 200, content_type: 'text/event-stream; charset=utf-8' };

interface AnthropicEvent {
  type?: unknown;
  message?: { usage?: AnthropicUsage };
  delta?: { stop_reason?: unknown; text?: unknown; thinking?: unknown; partial_json?: unknown };
  usage?: AnthropicUsage;
  error?: unknown;
}

export class PassedStream implements StreamedAnswer {
  readonly #model: CatalogModel;
  readonly #request: Buffer;
  #rest = '';
  #prelude = '';
  /** The last message_delta and what follows it. */
  #held = '';
  /** Deltas of content, each of at least one token, and the bytes of text in them. */
  #deltas = 0;
  #contentBytes = 0;
  #forwarded = false;
  #done = false;
  #stopReason: unknown = null;
  #usage: AnthropicUsage = {};
  /** The usage of the last message_delta as written, and whether it came. */
  #lastUsage: AnthropicUsage | null = null;

  constructor(model: CatalogModel, request: Buffer) {
    this.#model = model;
    this.#request = request;
  }

  get forwarded(): boolean {
    return this.#forwarded;
  }

  takes(contentType: string): boolean {
    return contentType.startsWith('text/event-stream');
  }

  head(): ModelReplyHead {
    return HEAD;
  }

  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(ANTHROPIC_ERRORS.streamEnd(error, requestId));
  }

  push(bytes: Buffer): Buffer | null {
    this.#rest += bytes.toString('latin1');
    const end = lastEventEnd(this.#rest);
    if (end === 0 && this.#rest.length > EVENT_BYTES_MAX)
      throw new UnusableAnswer('an event of the stream does not end');
    const out = this.#take(this.#rest.slice(0, end));
    this.#rest = this.#rest.slice(end);
    if (this.#deltas === 0) {
      this.#prelude += out;
      if (this.#prelude.length > PRELUDE_BYTES_MAX)
        throw new UnusableAnswer('the stream goes on and on without a token in it');
      return null;
    }
    const now = this.#prelude + out;
    this.#prelude = '';
    if (now === '') return null;
    this.#forwarded = true;
    return Buffer.from(now, 'latin1');
  }

  finish(): StreamEnd {
    const out = this.#take(this.#rest);
    if (!this.#done || this.#held === '') throw new UnusableAnswer('the stream was cut short');
    if (this.#deltas === 0 && isNothing(this.#stopReason, this.#usage))
      throw new UnusableAnswer('the stream ended without an answer in it');
    const { price: full, basis } = this.produced();
    const price = this.#deltas === 0 && this.#stopReason === 'refusal' ? FREE : full;
    const end = putUsage(this.#held, withCost({ ...this.#lastUsage }, price));
    return { last: Buffer.from(this.#prelude + out + end, 'latin1'), price, basis };
  }

  produced(): Pick<StreamEnd, 'price' | 'basis'> {
    const counted = readAnthropicUsage(this.#usage);
    if (counted && this.#lastUsage) return { price: priceTokens(this.#model, counted), basis: 'upstream' };
    const estimate = Math.max(this.#deltas, estimateTokens(this.#contentBytes));
    const outputTokens = Math.max(counted?.outputTokens ?? 0, estimate);
    const used = counted ? { ...counted, outputTokens } : estimatedUsage(this.#request, outputTokens);
    return { price: priceTokens(this.#model, used), basis: 'estimated' };
  }

  /** Reads whole events; returns those that may be passed on. */
  #take(events: string): string {
    let out = '';
    for (const event of events.split(EVENT_END)) if (event.trim() !== '') out += this.#event(`${event}\n\n`);
    return out;
  }

  #event(event: string): string {
    const data = dataOf(event);
    if (data === null) return event; // a comment keeps the connection alive
    const { type, message, delta, usage, error } = parse(data);
    switch (type) {
      case 'error':
        throw new ReportedError(
          JSON.parse(Buffer.from(JSON.stringify(error ?? null), 'latin1').toString('utf8')),
        );
      case 'message_start':
        this.#usage = { ...message?.usage };
        return event.replace(MODEL, () => `"model":${JSON.stringify(this.#model.id)}`);
      case 'message_delta': {
        const before = this.#held;
        this.#usage = { ...this.#usage, ...present(usage) };
        this.#lastUsage = usage ?? {};
        this.#stopReason = delta?.stop_reason;
        this.#held = event;
        return before;
      }
      case 'message_stop':
        this.#done = true;
        break;
      case 'content_block_delta':
        this.#deltas += 1;
        for (const text of [delta?.text, delta?.thinking, delta?.partial_json])
          if (typeof text === 'string') this.#contentBytes += text.length;
        break;
    }
    if (this.#held === '') return event;
    this.#held += event;
    return '';
  }
}

function parse(data: string): AnthropicEvent {
  try {
    return JSON.parse(data) as AnthropicEvent;
  } catch (cause) {
    throw new UnusableAnswer('an event of the stream is not JSON', { cause });
  }
}

/** Counts that message_delta leaves out or null are those of message_start. */
function present(usage: AnthropicUsage = {}): AnthropicUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));
}
