// An answer as a stream of server-sent events: whole events go on as they come, under the catalog's name for the model;
// the event with the usage, and what ends the stream, wait until the cost is in and the usage event is stored. What
// comes before the first token (comments, a role, notes of the maker's) waits for it, so that another upstream can be
// asked as long as nothing was said.
//
// The text is held as latin1, one character a byte: nothing is decoded, and no byte is changed that is not meant to be.
import {
  type CatalogModel,
  type ModelReplyHead,
  type ServiceError,
  toErrorBody,
} from '@switchyard/contracts';
import { estimateInputTokens } from '../calls/input-tokens.ts';
import { FREE, type Price, priceTokens, readUsage, type TokenUsage } from '../calls/pricing.ts';
import { choicesOf, emptyAnswer, hasContent } from './chat-content.ts';
import type { StreamEnd, StreamedAnswer } from './streamed-answer.ts';
import { ReportedError, UnusableAnswer } from './unusable-answer.ts';
import { usageWithCost } from './usage-with-cost.ts';

/** Bytes of one event: a longer one is no event. */
const EVENT_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of what comes before the first token. */
const PRELUDE_BYTES_MAX = 1024 * 1024;

const HEAD: ModelReplyHead = { status: 200, content_type: 'text/event-stream; charset=utf-8' };

export interface SseOptions {
  /** The caller's own body. */
  request: Uint8Array;
  includeUsage: boolean;
}

export class SseAnswer implements StreamedAnswer {
  readonly #model: CatalogModel;
  readonly #request: Uint8Array;
  /** The caller asked for OpenAI's extra chunk with the usage; if not, the usage goes into the last chunk there is. */
  readonly #includeUsage: boolean;
  /** The beginning of an event whose end has not come. */
  #rest = '';
  /** Its last characters, which may begin an event's end. */
  #seam = '';
  #events = 0;
  #forwarded = false;
  /** The model has said something. */
  #begun = false;
  /** What came before that. */
  #prelude = '';
  #done = false;
  #finishReason: string | null = null;
  /** `"model":"…"` as this upstream writes it, once its first event told. */
  #modelAsWritten: string | null = null;
  #id = '';
  #created = 0;
  /** Events that may be the last ones, under our name already: the one that says why it finished, the one with the usage. */
  #held: string[] = [];
  #givenUsage: unknown = null;
  #usage: TokenUsage | null = null;
  /** Estimated once: a budget asks with every piece. */
  #inputTokens: number | null = null;

  constructor(model: CatalogModel, { request, includeUsage }: SseOptions) {
    this.#model = model;
    this.#request = request;
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

  /** @throws UnusableAnswer when the stream was cut (it said neither [DONE] nor why it finished), or had nothing in it. */
  finish(): StreamEnd {
    const before = this.#forwarded;
    const last = this.#rest.trim() === '' ? '' : (this.#take(`${this.#rest}\n\n`)?.toString('latin1') ?? '');
    this.#forwarded = before; // what is in `last` has not gone on yet
    if (!this.#done && this.#finishReason === null)
      throw new UnusableAnswer(this.#events === 0 ? 'the stream has no events' : 'the stream was cut short');
    const empty = this.#begun ? null : emptyAnswer(this.#finishReason);
    if (empty === 'nothing') throw new UnusableAnswer('the stream ended without an answer in it');
    const { price: full, basis } = this.produced();
    const price = empty === 'refusal' ? FREE : full;
    const end = `${this.#lastEvents(usageWithCost(this.#givenUsage, price))}data: [DONE]\n\n`;
    const prelude = this.#underOurName(this.#prelude);
    return { last: Buffer.from(prelude + last + end, 'latin1'), price, basis };
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
    this.#inputTokens ??= estimateInputTokens(this.#request);
    const estimate = {
      inputTokens: this.#inputTokens,
      cachedInputTokens: 0,
      outputTokens: this.#events,
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
   * Reads the events without changing them; true when one may be among the last.
   * @throws UnusableAnswer for an event that is no JSON; ReportedError for one that tells of an error.
   */
  #read(events: string): boolean {
    // Nearly always one event came, of one line.
    if (events.startsWith('data:') && events.indexOf('\n') === events.length - 2)
      return this.#readData(events.slice('data:'.length), events);
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

  /** The first event with a model tells how the upstream writes it. */
  #introduce({ id, created, model }: Chunk, data: string): void {
    if (typeof id === 'string') this.#id = Buffer.from(id, 'latin1').toString('utf8');
    if (typeof created === 'number') this.#created = created;
    // Azure begins with an event about its filters, without an id or a model: the next one tells.
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

/** An event's end has up to three characters: `\n\r\n`. */
const SEAM_LENGTH = 2;
/** Characters of what may be a `[DONE]` with blanks around it. */
const DONE_LENGTH_MAX = 32;
/** Characters of an error event that are shown. */
const ERROR_LENGTH_MAX = 500;
const EVENT_END = /\r?\n\r?\n/;
const IS_DONE = /^data: ?\[DONE\]/m;
const IS_DATA = /^data:/m;
/** Names come before data. */
const EVENT_NAMED_ERROR = /^event: ?error\b/m;
const FINISH_REASON = /"finish_reason": ?"/;

/** Index just behind the last whole event. */
function lastEventEnd(text: string): number {
  const plain = text.lastIndexOf('\n\n');
  const carriage = text.lastIndexOf('\n\r\n');
  return Math.max(plain < 0 ? 0 : plain + 2, carriage < 0 ? 0 : carriage + 3);
}

/** What is read of an event; anything may be missing. Its texts are latin1 still: one character a byte. */
interface Chunk {
  id?: unknown;
  created?: unknown;
  model?: unknown;
  usage?: unknown;
  error?: unknown;
}

/** The data of an event; null where it has none: a comment, a name, a time to come back. */
function dataOf(event: string): string | null {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? null : lines.map((line) => line.slice('data:'.length)).join('\n');
}

/**
 * Inside a JSON string every quote is escaped, so `"error":{` with bare quotes is a member, wherever it stands.
 * @throws ReportedError for an error event: a fault, or a refusal, inside a 200.
 */
function refuseError(event: string, chunk: Chunk): void {
  if (!event.startsWith('data:') && EVENT_NAMED_ERROR.test(event))
    throw new ReportedError(toUtf8(chunk.error ?? chunk));
  if (!event.includes('"error"')) return;
  const at = event.search(/"error": ?[{"]/);
  if (at < 0) return;
  const nested = choicesOf(chunk).find(({ error }) => error)?.error;
  const said = chunk.error ?? nested ?? event.slice(at, at + ERROR_LENGTH_MAX).split('\n')[0];
  throw new ReportedError(toUtf8(said));
}

/** The value with its texts decoded. */
function toUtf8(value: unknown): unknown {
  return JSON.parse(Buffer.from(JSON.stringify(value), 'latin1').toString('utf8'));
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
