// The events of a stream of Anthropic. Only our model name in message_start and the cost in the last message_delta are
// written into them.
import { ANTHROPIC_ERRORS, type CatalogModel, type ServiceError } from '@switchyard/contracts';
import type { EmptyAnswer } from '../../../answers/chat-content.ts';
import { EVENT_NAMED_ERROR, putUsage } from '../../../answers/sse-events.ts';
import { withCost } from '../../../answers/usage-with-cost.ts';
import { ReportedError } from '../../../makers/unusable-answer.ts';
import type { Price } from '../../../spending/pricing.ts';
import type { InputTokens } from '../../native-dialect.ts';
import { estimatedUsage } from '../../passed-answer.ts';
import { decoded, type PassedEvents, parseEvent, type ReadEvent } from '../../passed-stream.ts';
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

export class MessageEvents implements PassedEvents {
  pieces = 0;
  contentBytes = 0;
  ended = false;
  readonly #model: CatalogModel;
  readonly #inputTokens: InputTokens;
  #stopReason: unknown = null;
  #usage: AnthropicUsage = {};
  /** The usage of the last message_delta as written, and whether it came. */
  #lastUsage: AnthropicUsage | null = null;

  constructor(model: CatalogModel, inputTokens: InputTokens) {
    this.#model = model;
    this.#inputTokens = inputTokens;
  }

  read(event: string, data: string): ReadEvent {
    const { type, message, delta, usage, error }: AnthropicEvent = parseEvent(data);
    if (type === 'error' || error || EVENT_NAMED_ERROR.test(event))
      throw new ReportedError(decoded(error ?? JSON.parse(data)));
    switch (type) {
      case 'message_start':
        this.#usage = { ...message?.usage };
        return { text: event.replace(MODEL, () => `"model":${JSON.stringify(this.#model.id)}`) };
      case 'message_delta':
        this.#usage = { ...this.#usage, ...present(usage) };
        this.#lastUsage = usage ?? {};
        this.#stopReason = delta?.stop_reason;
        return { text: event, bearsUsage: true };
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

  empty(): EmptyAnswer | null {
    if (this.pieces > 0) return null;
    if (isNothing(this.#stopReason, this.#usage)) return 'nothing';
    return this.#stopReason === 'refusal' ? 'refusal' : 'limit';
  }

  usage(outputTokens: number): ReturnType<PassedEvents['usage']> {
    const counted = readAnthropicUsage(this.#usage);
    if (!counted) return { used: estimatedUsage(this.#inputTokens, outputTokens), basis: 'estimated' };
    if (this.#lastUsage) return { used: counted, basis: 'upstream' };
    const used = { ...counted, outputTokens: Math.max(counted.outputTokens, outputTokens) };
    return { used, basis: 'estimated' };
  }

  priced(held: string, price: Price): string {
    return putUsage(held, withCost({ ...this.#lastUsage }, price));
  }

  lastWords(error: ServiceError, requestId: string): string {
    return ANTHROPIC_ERRORS.streamEnd(error, requestId);
  }
}

/** Counts that message_delta leaves out or null are those of message_start. */
function present(usage: AnthropicUsage = {}): AnthropicUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));
}
