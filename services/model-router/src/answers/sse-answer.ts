// A streamed chat. Its events get the catalog's model name; the usage goes into the last chunk, or into one of its own.
import { type CatalogModel, type ServiceError, toErrorBody } from '@switchyard/contracts';
import { isJsonObject } from '../json/is-json-object.ts';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { type Price, readUsage, type TokenUsage } from '../spending/pricing.ts';
import { inputTokensOf, readRequest } from '../spending/request-price.ts';
import { CallNumbers, type CallPiece } from './call-numbers.ts';
import {
  type ChatChoice,
  choicesOf,
  contentLength,
  type EmptyAnswer,
  emptyAnswer,
  hasContent,
} from './chat-content.ts';
import { EventStream, earlierText, type ReadEvent, textOf } from './event-stream.ts';
import { type Chunk, decodedEvent, parseEvent, putUsage, refuseError, usageOf } from './sse-events.ts';
import { usageWithCost } from './usage-with-cost.ts';

/** Length of a possible `[DONE]` with whitespace around it. */
const DONE_LENGTH_MAX = 32;

interface ToolCall {
  /** The index of its choice. */
  choice: unknown;
  /** A reference into the chunk. */
  call: CallPiece;
}

interface SseOptions {
  /** The caller's own body. */
  request: Buffer;
  includeUsage: boolean;
}

export class SseAnswer extends EventStream {
  ended = false;
  readonly #request: Buffer;
  /** The caller asked for OpenAI's extra usage chunk. Otherwise the usage goes into the last chunk. */
  readonly #includeUsage: boolean;
  /** Indexes of the choices with content, and of those with a finish reason. */
  readonly #speaking = new Set<unknown>();
  readonly #finished = new Set<unknown>();
  #finishReason: string | null = null;
  /** `"model":"…"` as this upstream writes it; known from the first event with a model. */
  #modelAsWritten: string | null = null;
  /** By the index of a choice. */
  readonly #numbers = new Map<unknown, CallNumbers>();
  #id = '';
  #created = 0;
  #givenUsage: unknown = null;
  #usage: TokenUsage | null = null;

  constructor(model: CatalogModel, { request, includeUsage }: SseOptions) {
    super(model, () => inputTokensOf(model.type, readRequest(request)));
    this.#request = request;
    this.#includeUsage = includeUsage;
  }

  protected override get begun(): boolean {
    return this.#speaking.size > 0;
  }

  /** Some makers send no `[DONE]`. Without it, a choice that was asked for and has not begun was cut too. */
  protected override get isWhole(): boolean {
    if (this.ended) return true;
    const asked = Number(readRequest(this.#request).n ?? 1);
    return this.#finished.size >= asked && this.#speaking.isSubsetOf(this.#finished);
  }

  protected override named(events: string): string {
    return this.#modelAsWritten
      ? events.replaceAll(this.#modelAsWritten, `"model":"${this.model.id}"`)
      : events;
  }

  /** An error event without `[DONE]`. */
  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(`data: ${JSON.stringify(toErrorBody(error, requestId))}\n\n`);
  }

  protected read(event: string, data: string): ReadEvent {
    if (data.length < DONE_LENGTH_MAX && data.trim() === '[DONE]') {
      if (this.pieces === 0) throw new UnusableAnswer('the stream ended before its first event');
      this.ended = true;
      return { text: '' };
    }
    const chunk: Chunk = parseEvent(data);
    if (this.#modelAsWritten === null) this.#introduce(chunk, data);
    refuseError(event, data);
    this.pieces += 1;
    const choices = choicesOf(chunk);
    let isFinished = false;
    for (const choice of choices) {
      const index = choice.index ?? 0;
      if (!this.#speaking.has(index) && hasContent(choice)) this.#speaking.add(index);
      this.contentBytes += contentLength(choice);
      if (typeof choice.finish_reason !== 'string' || choice.finish_reason === '') continue;
      this.#finishReason = choice.finish_reason;
      this.#finished.add(index);
      isFinished = true;
    }
    const usage = usageOf(chunk, choices);
    const goesOn = choices.length > 0;
    // Clients join the pieces of a call by its index. Only an event whose indexes change is rewritten.
    const calls = callsOf(choices);
    const numbers = this.#numbersOf(calls);
    const isNumbered = calls.every(({ call }, at) => call.index === numbers[at]);
    const text = isNumbered ? event : this.#renumbered(data, numbers);
    if (usage === null) return { text, goesOn, waits: isFinished };
    const counted = readUsage(usage);
    if (counted) {
      this.#givenUsage = usage;
      this.#usage = counted;
    }
    // A running usage is not passed on: clients add up every usage that they read, and it has the upstream's cost.
    const earlierText = goesOn ? putUsage(text, 'null') : '';
    return { text, earlierText, goesOn, waits: true, bearsUsage: true };
  }

  protected emptiness(): EmptyAnswer | null {
    return this.begun ? null : emptyAnswer(this.#finishReason, readRequest(this.#request).stop);
  }

  protected counted(): ReturnType<EventStream['counted']> {
    return this.#usage && { used: this.#usage, basis: 'upstream' };
  }

  protected priced(held: readonly ReadEvent[], price: Price): string {
    return `${this.#lastEvents(held, usageWithCost(this.#givenUsage, price))}data: [DONE]\n\n`;
  }

  /** The held events with the usage in the last one, or in an event after them. */
  #lastEvents(held: readonly ReadEvent[], usage: string): string {
    const separate = held.findLast(({ goesOn }) => !goesOn);
    if (this.#includeUsage) {
      const bearer = separate ?? held.findLast(({ bearsUsage }) => bearsUsage);
      if (bearer === undefined) return textOf(held) + this.#ownUsageEvent(usage);
      return held
        .map((event) => (event === bearer ? putUsage(event.text, usage) : earlierText(event)))
        .join('');
    }
    // The caller did not ask for a chunk without choices, and readers of `choices[0]` would fail on it.
    const wanted = held.filter((event) => event !== separate && event.earlierText !== '');
    const last = wanted.pop();
    if (last === undefined) return this.#ownUsageEvent(usage);
    return wanted.map(earlierText).join('') + putUsage(last.text, usage);
  }

  /** The indexes for these tool calls: each call has its own. */
  #numbersOf(calls: readonly ToolCall[]): number[] {
    return calls.map(({ choice, call }) => {
      const numbers = this.#numbers.get(choice) ?? new CallNumbers();
      this.#numbers.set(choice, numbers);
      return numbers.numberOf(call);
    });
  }

  /** The event under other indexes. */
  #renumbered(data: string, numbers: readonly number[]): string {
    const chunk: Chunk = decodedEvent(data);
    for (const [at, { call }] of callsOf(choicesOf(chunk)).entries())
      Object.assign(call, { index: numbers[at] });
    const text = JSON.stringify({ ...chunk, model: this.model.id });
    return Buffer.from(`data: ${text}`).toString('latin1');
  }

  /** Learns from the first event with a model how the upstream writes it. */
  #introduce({ id, created, model }: Chunk, data: string): void {
    if (typeof id === 'string') this.#id = Buffer.from(id, 'latin1').toString('utf8');
    if (typeof created === 'number') this.#created = created;
    // Azure's first event reports its filters and has an empty id and model; the next event has them. Others omit the model.
    if (typeof model === 'string' && model !== '')
      this.#modelAsWritten = /"model": ?"(?:[^"\\]|\\.)*"/.exec(data)?.[0] ?? '';
  }

  #ownUsageEvent(usage: string): string {
    const head = {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.model.id,
    };
    const text = JSON.stringify({ ...head, choices: [] });
    return `data: ${text.slice(0, -1)},"usage":${usage}}\n\n`;
  }
}

/** The pieces of tool calls in a chunk. */
function callsOf(choices: readonly ChatChoice[]): ToolCall[] {
  return choices.flatMap(({ index, delta }) => {
    const { tool_calls: calls } = isJsonObject(delta) ? delta : {};
    if (!Array.isArray(calls)) return [];
    return calls.filter(isJsonObject).map((call) => ({ choice: index ?? 0, call }));
  });
}
