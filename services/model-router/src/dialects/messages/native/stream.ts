// The events of a stream of Anthropic. Only our model name in message_start and the cost in the last message_delta are
// written into them.
import { ANTHROPIC_ERRORS, type ServiceError } from '@switchyard/contracts';
import type { EmptyAnswer } from '../../../answers/chat-content.ts';
import { EventStream, type ReadEvent, textOf } from '../../../answers/event-stream.ts';
import { decodedEvent, EVENT_NAMED_ERROR, parseEvent, putUsage } from '../../../answers/sse-events.ts';
import { withCost } from '../../../answers/usage-with-cost.ts';
import { ReportedError } from '../../../makers/unusable-answer.ts';
import type { Price } from '../../../spending/pricing.ts';
import { type AnthropicUsage, isNothing, readAnthropicUsage } from './usage.ts';

/** `message_start` names the model before anything that a caller or a model wrote. */
const MODEL = /"model": ?"(?:[^"\\]|\\.)*"/;

interface AnthropicEvent {
  type?: unknown;
  message?: { usage?: AnthropicUsage };
  delta?: { stop_reason?: unknown; text?: unknown; thinking?: unknown; partial_json?: unknown };
  usage?: AnthropicUsage;
  error?: unknown;
}

export class AnthropicStream extends EventStream {
  ended = false;
  #stopReason: unknown = null;
  #usage: AnthropicUsage = {};
  /** Usage of the last message_delta as written; null until it arrives. */
  #lastUsage: AnthropicUsage | null = null;

  protected override get isWhole(): boolean {
    return this.ended && this.#lastUsage !== null;
  }

  protected read(event: string, data: string): ReadEvent {
    const { type, message, delta, usage, error }: AnthropicEvent = parseEvent(data);
    if (type === 'error' || error || EVENT_NAMED_ERROR.test(event)) {
      const reported: AnthropicEvent = decodedEvent(data);
      throw new ReportedError(reported.error ?? reported);
    }
    switch (type) {
      case 'message_start':
        this.#usage = { ...message?.usage };
        return { text: event.replace(MODEL, () => `"model":${JSON.stringify(this.model.id)}`) };
      case 'message_delta':
        this.#usage = { ...this.#usage, ...present(usage) };
        this.#lastUsage = usage ?? {};
        this.#stopReason = delta?.stop_reason;
        return { text: event, goesOn: true, waits: true };
      case 'message_stop':
        this.ended = true;
        break;
      case 'content_block_delta':
        this.pieces += 1;
        for (const text of [delta?.text, delta?.thinking, delta?.partial_json])
          if (typeof text === 'string') this.contentBytes += text.length;
        break;
    }
    return { text: event };
  }

  protected emptiness(): EmptyAnswer | null {
    if (this.begun) return null;
    if (isNothing(this.#stopReason, this.#usage)) return 'nothing';
    return this.#stopReason === 'refusal' ? 'refusal' : 'limit';
  }

  protected counted(outputTokens: number): ReturnType<EventStream['counted']> {
    const counted = readAnthropicUsage(this.#usage);
    if (!counted || this.#lastUsage) return counted && { used: counted, basis: 'upstream' };
    const used = { ...counted, outputTokens: Math.max(counted.outputTokens, outputTokens) };
    return { used, basis: 'estimated' };
  }

  protected priced(held: readonly ReadEvent[], price: Price): string {
    return putUsage(textOf(held), withCost({ ...this.#lastUsage }, price));
  }

  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(ANTHROPIC_ERRORS.streamEnd(error, requestId));
  }
}

/** Omits null counts, so that those of message_start remain. */
function present(usage: AnthropicUsage = {}): AnthropicUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));
}
