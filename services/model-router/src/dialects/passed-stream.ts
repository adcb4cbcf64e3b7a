// A stream in a maker's own dialect, passed on event by event; the dialect writes our model name and the cost into it. As
// in chat, everything before the first content waits for it, so that a fallback stays possible, and the event with the
// usage waits until the cost is known. The text is latin1, one character per byte.
import type { CatalogModel, ModelReplyHead, ServiceError } from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import type { EmptyAnswer } from '../answers/chat-content.ts';
import { dataOf, EVENT_END } from '../answers/sse-events.ts';
import type { StreamEnd, StreamedAnswer } from '../answers/streamed-answer.ts';
import { WholeEvents } from '../answers/whole-events.ts';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { FREE, type Price, priceTokens, type TokenUsage } from '../spending/pricing.ts';

/** Maximum size of everything before the first content, besides what it repeats of the request. */
const PRELUDE_BYTES_MAX = 1024 * 1024;
/** How often its bytes may come back before the first content: in several events, and longer by escapes. */
const REQUEST_ECHOES_MAX = 8;

const HEAD: ModelReplyHead = { status: 200, content_type: 'text/event-stream; charset=utf-8' };

export interface ReadEvent {
  /** The event under our model name. */
  readonly text: string;
  /** It has the usage: it waits for the cost, with all events after it. */
  readonly bearsUsage?: true;
}

/** Reads the events of one stream in a dialect. */
export interface PassedEvents {
  /** Pieces of content so far, each of at least one token. */
  readonly pieces: number;
  /** Bytes of text in them. */
  readonly contentBytes: number;
  /** Whether the last event of a whole stream was read. */
  readonly ended: boolean;
  /** @throws UnusableAnswer, ReportedError */
  read(event: string, data: string): ReadEvent;
  /** What a whole stream without content is; null when it has content. */
  empty(): EmptyAnswer | null;
  /** @param outputTokens estimated from the content so far, for when the maker has not counted */
  usage(outputTokens: number): { used: TokenUsage; basis: StreamEnd['basis'] };
  /** The events that waited, with the cost. */
  priced(held: string, price: Price): string;
  lastWords(error: ServiceError, requestId: string): string;
}

export class PassedStream implements StreamedAnswer {
  readonly #model: CatalogModel;
  readonly #events: PassedEvents;
  readonly #preludeBytesMax: number;
  readonly #stream = new WholeEvents();
  #prelude = '';
  /** The last event with a usage, and what follows it. */
  #held = '';
  #forwarded = false;

  constructor(model: CatalogModel, request: Buffer, events: PassedEvents) {
    this.#model = model;
    this.#events = events;
    this.#preludeBytesMax = PRELUDE_BYTES_MAX + REQUEST_ECHOES_MAX * request.length;
  }

  get forwarded(): boolean {
    return this.#forwarded;
  }

  get ended(): boolean {
    return this.#events.ended;
  }

  takes(contentType: string): boolean {
    return contentType.startsWith('text/event-stream');
  }

  head(): ModelReplyHead {
    return HEAD;
  }

  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(this.#events.lastWords(error, requestId));
  }

  push(bytes: Buffer): Buffer | null {
    const out = this.#take(this.#stream.push(bytes));
    if (this.#events.pieces === 0) {
      this.#prelude += out;
      if (this.#prelude.length > this.#preludeBytesMax)
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
    const out = this.#take(this.#stream.rest);
    if (!this.#events.ended || this.#held === '') throw new UnusableAnswer('the stream was cut short');
    const empty = this.#events.empty();
    if (empty === 'nothing') throw new UnusableAnswer('the stream ended without an answer in it');
    const { price: full, basis } = this.produced();
    // As in chat, a refusal without an answer costs nothing.
    const price = empty === 'refusal' ? FREE : full;
    const end = this.#events.priced(this.#held, price);
    return { last: Buffer.from(this.#prelude + out + end, 'latin1'), price, basis };
  }

  produced(): Pick<StreamEnd, 'price' | 'basis'> {
    const { pieces, contentBytes } = this.#events;
    const { used, basis } = this.#events.usage(Math.max(pieces, estimateTokens(contentBytes)));
    return { price: priceTokens(this.#model, used), basis };
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
    const { text, bearsUsage } = this.#events.read(event, data);
    if (bearsUsage) {
      const before = this.#held;
      this.#held = text;
      return before;
    }
    if (this.#held === '') return text;
    this.#held += text;
    return '';
  }
}

/** The JSON of an event, whose strings are latin1. @throws UnusableAnswer */
export function parseEvent(data: string): object {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw new UnusableAnswer('an event of the stream is not JSON', { cause });
  }
  if (typeof event === 'object' && event !== null) return event;
  throw new UnusableAnswer('an event of the stream is no JSON object');
}

/** Decodes the strings in a value of an event. */
export function decoded(value: unknown): unknown {
  return JSON.parse(Buffer.from(JSON.stringify(value ?? null), 'latin1').toString('utf8'));
}
