// An answer as a stream of server-sent events: whole events go on as they come, under the catalog's name for the model;
// the event with the usage, and what ends the stream, wait until the cost is in and the usage event is stored.
//
// The text is held as latin1, one character a byte: nothing is decoded, and no byte is changed that is not meant to be.
import {
  type CatalogModel,
  type ModelReplyHead,
  type ServiceError,
  toErrorBody,
} from '@switchyard/contracts';
import { estimateTokens, type Price, priceTokens, readUsage, type TokenUsage } from '../calls/pricing.ts';
import type { StreamEnd, StreamedAnswer } from './streamed-answer.ts';
import { UnusableAnswer } from './unusable-answer.ts';
import { usageWithCost } from './usage-with-cost.ts';

/** Bytes of one event: a longer one is no event. */
const EVENT_BYTES_MAX = 32 * 1024 * 1024;

const HEAD: ModelReplyHead = { status: 200, content_type: 'text/event-stream; charset=utf-8' };

export interface SseOptions {
  requestBytes: number;
  includeUsage: boolean;
}

export class SseAnswer implements StreamedAnswer {
  readonly #model: CatalogModel;
  readonly #requestBytes: number;
  /** The caller asked for OpenAI's extra chunk with the usage; if not, the usage goes into the last chunk there is. */
  readonly #includeUsage: boolean;
  /** The beginning of an event whose end has not come. */
  #rest = '';
  /** Its last characters, which may begin an event's end. */
  #seam = '';
  #events = 0;
  #forwarded = false;
  #done = false;
  #finishReason = false;
  /** `"model":"…"` as this upstream writes it, once its first event told. */
  #modelAsWritten: string | null = null;
  #id = '';
  #created = 0;
  /** Events that may be the last ones, under our name already: the one that says why it finished, the one with the usage. */
  #held: string[] = [];
  #givenUsage: unknown = null;
  #usage: TokenUsage | null = null;

  constructor(model: CatalogModel, { requestBytes, includeUsage }: SseOptions) {
    this.#model = model;
    this.#requestBytes = requestBytes;
    this.#includeUsage = includeUsage;
  }

  /** Whether anything has gone on to the caller: from then on there is no falling back. */
  get forwarded(): boolean {
    return this.#forwarded;
  }

  takes(contentType: string): boolean {
    return contentType.startsWith('text/event-stream');
  }

  head(): ModelReplyHead {
    return HEAD;
  }

  /** An error event, and no `[DONE]`. */
  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(`data: ${JSON.stringify(toErrorBody(error, requestId))}\n\n`);
  }

  /**
   * Takes bytes of the upstream; returns those that go on now, if any.
   * @throws UnusableAnswer when the stream reports an error or is no event stream.
   */
  push(bytes: Buffer): Buffer | null {
    const text = bytes.toString('latin1');
    // Looked for in what is new only: an image in one event of many MB would else be gone through for each piece of it.
    const seam = this.#seam + text;
    const end = lastEventEnd(seam);
    this.#rest += text;
    if (end === 0) {
      this.#seam = seam.slice(-SEAM_LENGTH);
      if (this.#rest.length > EVENT_BYTES_MAX)
        throw new UnusableAnswer('an event of the stream does not end');
      return null;
    }
    const whole = this.#rest;
    const at = whole.length - seam.length + end;
    this.#rest = whole.slice(at);
    this.#seam = this.#rest.slice(-SEAM_LENGTH);
    return this.#take(whole.slice(0, at));
  }

  /** @throws UnusableAnswer when the stream was cut: it neither said [DONE] nor why it finished. */
  finish(): StreamEnd {
    const before = this.#forwarded;
    const last = this.#rest.trim() === '' ? '' : (this.#take(`${this.#rest}\n\n`)?.toString('latin1') ?? '');
    this.#forwarded = before; // what is in `last` has not gone on yet
    if (!this.#done && !this.#finishReason)
      throw new UnusableAnswer(this.#events === 0 ? 'the stream has no events' : 'the stream was cut short');
    const { price, basis } = this.produced();
    const text = `${last}${this.#lastEvents(usageWithCost(this.#givenUsage, price))}data: [DONE]\n\n`;
    return { last: Buffer.from(text, 'latin1'), price, basis };
  }

  /** The held events with the usage in the last of them, or behind them in an event of its own. */
  #lastEvents(usage: string): string {
    const held = this.#held;
    const separate = held.findLast(hasNoChoices);
    if (this.#includeUsage) {
      const bearer = separate ?? held.findLast((event) => usageOf(event) !== null);
      return bearer === undefined
        ? held.join('') + this.#ownUsageEvent(usage)
        : held.map((event) => (event === bearer ? putUsage(event, usage) : event)).join('');
    }
    // Nobody asked for a chunk without choices, and readers that take `choices[0]` for granted would fall over it.
    const wanted = held.filter((event) => event !== separate);
    const last = wanted.pop();
    return last === undefined ? this.#ownUsageEvent(usage) : wanted.join('') + putUsage(last, usage);
  }

  /** What was produced so far, by the maker's count if it gave one, else by estimate. */
  produced(): { price: Price; basis: 'upstream' | 'estimated' } {
    if (this.#usage) return { price: priceTokens(this.#model, this.#usage), basis: 'upstream' };
    // Makers send about one token an event.
    const estimate = {
      inputTokens: estimateTokens(this.#requestBytes),
      cachedInputTokens: 0,
      outputTokens: this.#events,
    };
    return { price: priceTokens(this.#model, estimate), basis: 'estimated' };
  }

  #take(events: string): Buffer | null {
    if (this.#modelAsWritten === null) this.#readFirst(events);
    refuseError(events);
    this.#events += countEvents(events);
    this.#finishReason ||= FINISH_REASON.test(events);
    const plain = this.#held.length === 0 && !ENDING.test(events);
    const out = plain ? events : this.#sift(events);
    if (out === '') return null;
    this.#forwarded = true;
    return Buffer.from(this.#underOurName(out), 'latin1');
  }

  /** Goes through the events one by one, holding back those that may be the last and dropping `[DONE]`. */
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
        out += whole; // a comment: it keeps the connection alive, wherever it stands
        continue;
      }
      if (this.#held.length > 0 && !hasNoChoices(event)) {
        out += this.#held.join(''); // they were not the last after all
        this.#held = [];
      }
      if (usage !== null || FINISH_REASON.test(event) || this.#held.length > 0) this.#held.push(whole);
      else out += whole;
    }
    return out;
  }

  /** The first event tells whether this is a stream of chunks at all, and how the upstream writes its model. */
  #readFirst(events: string): void {
    const data = /(?:^|\n)data: ?(.*)/.exec(events)?.[1]?.trimEnd();
    if (data === undefined) return; // comments only, so far
    if (data === '[DONE]') throw new UnusableAnswer('the stream ended before its first event');
    let chunk: { model?: unknown; id?: unknown; created?: unknown };
    try {
      chunk = JSON.parse(Buffer.from(data, 'latin1').toString('utf8')) as typeof chunk;
    } catch (cause) {
      throw new UnusableAnswer('the first event of the stream is not JSON', { cause });
    }
    if (typeof chunk.id === 'string') this.#id = chunk.id;
    if (typeof chunk.created === 'number') this.#created = chunk.created;
    // Azure begins with an event about its filters, without an id or a model: the next one tells.
    if (chunk.model !== '') this.#modelAsWritten = /"model": ?"(?:[^"\\]|\\.)*"/.exec(data)?.[0] ?? '';
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

/** An event's end has up to three characters: `\n\r\n`. */
const SEAM_LENGTH = 2;
/** Characters of an error event that are shown. */
const ERROR_LENGTH_MAX = 500;
const EVENT_END = /\r?\n\r?\n/;
/**
 * What may be among the last: a usage (an object, not the `"usage":null` of every other chunk), a reason for the finish,
 * the mark of the end.
 */
const ENDING = /"usage": ?\{|"finish_reason": ?"|\[DONE\]/;
const IS_DONE = /^data: ?\[DONE\]/m;
const IS_DATA = /^data:/m;
const CHUNK_EVENT = /^data: ?\{/gm;
const FINISH_REASON = /"finish_reason": ?"/;

/** Index just behind the last whole event. */
function lastEventEnd(text: string): number {
  const plain = text.lastIndexOf('\n\n');
  const carriage = text.lastIndexOf('\n\r\n');
  return Math.max(plain < 0 ? 0 : plain + 2, carriage < 0 ? 0 : carriage + 3);
}

/** Events with a chunk in them: neither comments nor `[DONE]`. */
function countEvents(events: string): number {
  return events.match(CHUNK_EVENT)?.length ?? 0;
}

/**
 * Inside a JSON string every quote is escaped, so `"error":{` with bare quotes is a member, wherever it stands.
 * @throws UnusableAnswer for an error event: a fault inside a 200.
 */
function refuseError(events: string): void {
  const at = events.search(/"error": ?[{"]/);
  if (at < 0) return;
  const said = events.slice(at, at + ERROR_LENGTH_MAX).split('\n')[0];
  throw new UnusableAnswer(`the stream reported an error: ${said}`);
}

/** OpenAI's chunk with the usage and nothing else. */
function hasNoChoices(event: string): boolean {
  return !event.includes('"choices"') || /"choices": ?\[ ?\]/.test(event);
}

/** The usage object of an event; null where it has none (`"usage":null` is none). */
function usageOf(event: string): unknown {
  const span = usageSpan(event);
  if (!span) return null;
  try {
    return JSON.parse(event.slice(span.start, span.end)) as unknown;
  } catch {
    return null;
  }
}

/** The event with this usage: in place of the one it has (`null` counts), or as its last member. */
function putUsage(event: string, usage: string): string {
  const span = usageSpan(event);
  if (span) return event.slice(0, span.start) + usage + event.slice(span.end);
  const none = /"usage": ?null/.exec(event);
  if (none) return `${event.slice(0, none.index)}"usage":${usage}${event.slice(none.index + none[0].length)}`;
  const end = event.lastIndexOf('}');
  return `${event.slice(0, end)},"usage":${usage}${event.slice(end)}`;
}

/**
 * Where the usage object stands. Inside a JSON string every quote is escaped, so `"usage":` with bare quotes is a key;
 * the last one is taken, since makers put it behind the choices.
 */
function usageSpan(event: string): { start: number; end: number } | null {
  const key = event.lastIndexOf('"usage"');
  if (key < 0) return null;
  let start = key + '"usage"'.length;
  while (event[start] === ' ' || event[start] === ':') start += 1;
  if (event[start] !== '{') return null;
  let depth = 0;
  for (let at = start; at < event.length; at += 1) {
    if (event[at] === '{') depth += 1;
    else if (event[at] === '}' && --depth === 0) return { start, end: at + 1 };
  }
  return null;
}
