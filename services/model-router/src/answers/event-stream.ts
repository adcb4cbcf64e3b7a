// An answer as server-sent events, metered while it passes. Complete events are passed on at once, under our model name.
// Everything before the first content (comments, a role, metadata) waits for it, so that a fallback stays possible. The
// events that may be the last ones wait until the cost is known and the usage event is stored.
// The text is held as latin1, one character per byte: nothing is decoded, and only intended bytes change.
import type { CatalogModel, ModelReplyHead, ServiceError } from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { FREE, type Price, priceTokens, type TokenUsage } from '../spending/pricing.ts';
import type { EmptyAnswer } from './chat-content.ts';
import { dataOf, EVENT_END, withoutEmptyData } from './sse-events.ts';
import type { StreamEnd, StreamedAnswer } from './streamed-answer.ts';
import { WholeEvents } from './whole-events.ts';

/** Maximum size of everything before the first content, besides repetitions of the request. */
const PRELUDE_BYTES_MAX = 1024 * 1024;
/** How often the request may be repeated before the first content: in several events, with escapes. */
const REQUEST_ECHOES_MAX = 8;

const HEAD: ModelReplyHead = { status: 200, content_type: 'text/event-stream; charset=utf-8' };

/** The input tokens that the call's hold was computed from, for a maker that does not count. */
export type InputTokens = () => number;

export interface ReadEvent {
  /** The event to pass on; '' for none. */
  readonly text: string;
  /** Its text when it was not the last one after all, if that differs; '' for none. */
  readonly earlierText?: string;
  /** It continues the answer, so the events that waited are not the last. */
  readonly goesOn?: boolean;
  /** It may be among the last: it waits for the cost, with all events after it. */
  readonly waits?: boolean;
  readonly bearsUsage?: boolean;
}

export abstract class EventStream implements StreamedAnswer {
  /** Whether the last event of a whole stream was read. */
  abstract readonly ended: boolean;
  protected readonly model: CatalogModel;
  /** Pieces so far, each of at least one token. */
  protected pieces = 0;
  /** Bytes of text in them. */
  protected contentBytes = 0;
  readonly #countInput: InputTokens;
  readonly #preludeBytesMax: number;
  readonly #stream = new WholeEvents();
  #prelude = '';
  /** Events that may be the last ones. */
  #held: ReadEvent[] = [];
  #forwarded = false;
  #hasEvents = false;
  /** Estimated once, since a budget asks for it on every chunk. */
  #inputTokens: number | null = null;

  /** @param echoedBytes size of the request, for makers that repeat it before the answer */
  constructor(model: CatalogModel, countInput: InputTokens, echoedBytes = 0) {
    this.model = model;
    this.#countInput = countInput;
    this.#preludeBytesMax = PRELUDE_BYTES_MAX + REQUEST_ECHOES_MAX * echoedBytes;
  }

  abstract lastWords(error: ServiceError, requestId: string): Buffer;
  /**
   * @param event without its end
   * @throws UnusableAnswer, ReportedError
   */
  protected abstract read(event: string, data: string): ReadEvent;
  /** Kind of a whole stream without content; null when it has content. */
  protected abstract emptiness(): EmptyAnswer | null;
  /**
   * The maker's own count; null when there is none.
   * @param outputTokens estimated, for a maker that has counted only the input so far
   */
  protected abstract counted(outputTokens: number): { used: TokenUsage; basis: StreamEnd['basis'] } | null;
  /** The events that waited, with the cost. */
  protected abstract priced(held: readonly ReadEvent[], price: Price): string;

  /** Whether the answer has content. */
  protected get begun(): boolean {
    return this.pieces > 0;
  }

  protected get isWhole(): boolean {
    return this.ended;
  }

  /** The events under our model name, unless `read` has written it. */
  protected named(events: string): string {
    return events;
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

  push(bytes: Buffer): Buffer | null {
    const out = this.#take(this.#stream.push(bytes));
    if (!this.begun) {
      this.#prelude += out;
      if (this.#prelude.length > this.#preludeBytesMax)
        throw new UnusableAnswer('the stream is too long before its first token');
      return null;
    }
    const now = this.#prelude + out;
    this.#prelude = '';
    if (now === '') return null;
    this.#forwarded = true;
    return Buffer.from(this.named(now), 'latin1');
  }

  finish(): StreamEnd {
    const { rest } = this.#stream;
    const out = rest === '' ? '' : this.#take(`${rest}\n\n`);
    if (!this.isWhole)
      throw new UnusableAnswer(this.#hasEvents ? 'the stream was cut short' : 'the stream has no events');
    const empty = this.emptiness();
    if (empty === 'nothing') throw new UnusableAnswer('the stream ended without an answer in it');
    const { price: full, basis } = this.produced();
    const price = empty === 'refusal' ? FREE : full;
    const last = this.named(this.#prelude + out + this.priced(this.#held, price));
    return { last: Buffer.from(last, 'latin1'), price, basis };
  }

  /** The output so far, by the maker's count if there is one, otherwise estimated. */
  produced(): Pick<StreamEnd, 'price' | 'basis'> {
    // Makers send one or several tokens per piece.
    const outputTokens = Math.max(this.pieces, estimateTokens(this.contentBytes));
    const counted = this.counted(outputTokens);
    if (counted) return { price: priceTokens(this.model, counted.used), basis: counted.basis };
    this.#inputTokens ??= this.#countInput();
    const estimate = { inputTokens: this.#inputTokens, cachedInputTokens: 0, outputTokens };
    return { price: priceTokens(this.model, estimate), basis: 'estimated' };
  }

  /** Reads whole events; returns those that may be passed on. */
  #take(events: string): string {
    let out = '';
    let isUnchanged = this.#held.length === 0;
    for (const event of events.split(EVENT_END)) {
      const data = dataOf(event);
      if (data === null) {
        const comment = withoutEmptyData(event); // keeps the connection alive
        if (comment !== event) isUnchanged = false;
        if (event.trim() !== '') out += `${comment}\n\n`;
        continue;
      }
      this.#hasEvents = true;
      const read = this.read(event, data);
      if (read.waits || read.text !== event) isUnchanged = false;
      out += this.#sift(read);
    }
    return isUnchanged ? events : out;
  }

  #sift(event: ReadEvent): string {
    if (event.text === '') return '';
    let out = '';
    if (event.goesOn && this.#held.length > 0) {
      out = this.#held.map(earlierText).join('');
      this.#held = [];
    }
    const text = `${event.text}\n\n`;
    if (!event.waits && this.#held.length === 0) return out + text;
    this.#held.push({ ...event, text });
    return out;
  }
}

/** The text of an event that waited and was not the last one. */
export function earlierText({ text, earlierText: other }: ReadEvent): string {
  if (other === undefined) return text;
  return other === '' ? '' : `${other}\n\n`;
}

export function textOf(events: readonly ReadEvent[]): string {
  return events.map(({ text }) => text).join('');
}
