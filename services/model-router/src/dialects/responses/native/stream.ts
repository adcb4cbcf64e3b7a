// The events of a stream of OpenAI's Responses. Our model name is written into each `response`, and the cost into the last.
import { namedEvent, responsesError, type ServiceError } from '@switchyard/contracts';
import type { EmptyAnswer } from '../../../answers/chat-content.ts';
import { EventStream, type ReadEvent, textOf } from '../../../answers/event-stream.ts';
import { decodedEvent, EVENT_NAMED_ERROR, parseEvent } from '../../../answers/sse-events.ts';
import { withCost } from '../../../answers/usage-with-cost.ts';
import { topLevelMembers } from '../../../json/json-members.ts';
import { withMembers } from '../../../json/splice.ts';
import { reportedError, UnusableAnswer } from '../../../makers/unusable-answer.ts';
import type { Price } from '../../../spending/pricing.ts';
import { failedState } from '../response-object.ts';
import { emptiness, type OpenAiResponse, readResponsesUsage, usageShown } from './response.ts';

interface ResponseEvent {
  type?: unknown;
  sequence_number?: unknown;
  delta?: unknown;
  error?: unknown;
  response?: OpenAiResponse | null;
}

export class OpenAiStream extends EventStream {
  /** The first `response`, for a stream that fails. */
  #begunResponse: unknown = null;
  /** The whole response, from the last event. */
  #last: OpenAiResponse | null = null;
  #nextNumber = 0;

  get ended(): boolean {
    return this.#last !== null;
  }

  protected read(event: string, data: string): ReadEvent {
    if (data.trim() === '[DONE]') return { text: '' };
    const { type, sequence_number: number, delta, error, response }: ResponseEvent = parseEvent(data);
    if (typeof number === 'number') this.#nextNumber = number + 1;
    if (type === 'response.failed' || type === 'error' || error || EVENT_NAMED_ERROR.test(event)) {
      const reported: ResponseEvent = decodedEvent(data);
      if (type === 'response.failed') throw reportedError(reported.response?.error ?? 'the response failed');
      throw reportedError(reported.error ?? reported);
    }
    if (typeof type === 'string' && type.endsWith('.delta') && typeof delta === 'string' && delta !== '') {
      this.pieces += 1;
      this.contentBytes += delta.length;
    }
    if (typeof response !== 'object' || response === null) return { text: event };
    this.#begunResponse ??= (decodedEvent(data) as ResponseEvent).response;
    const text = withResponseMembers(event, [['model', JSON.stringify(this.model.id)]]);
    if (type !== 'response.completed' && type !== 'response.incomplete') return { text };
    this.#last = response;
    return { text, goesOn: true, waits: true };
  }

  protected emptiness(): EmptyAnswer | null {
    return this.begun ? null : emptiness(this.#last ?? {});
  }

  protected counted(): ReturnType<EventStream['counted']> {
    const used = readResponsesUsage(this.#last?.usage);
    return used && { used, basis: 'upstream' };
  }

  protected priced(held: readonly ReadEvent[], price: Price): string {
    const { input_tokens: inputTokens = 0, output_tokens: outputTokens = 0 } = price.quantities;
    const shown = usageShown(this.#last?.usage, { inputTokens, outputTokens, cachedInputTokens: 0 });
    return withResponseMembers(textOf(held), [['usage', withCost({ ...shown }, price)]]);
  }

  lastWords(error: ServiceError, requestId: string): Buffer {
    const number = this.#nextNumber;
    const begun = (this.#begunResponse ?? { object: 'response', output: [] }) as object;
    const response = { ...begun, model: this.model.id, ...failedState(error) };
    const failed = { type: 'response.failed', sequence_number: number + 1, response };
    return Buffer.from(namedEvent(responsesError(error, requestId, number)) + namedEvent(failed));
  }
}

/** The events with these members in the `response` of the first of them. */
function withResponseMembers(events: string, values: [name: string, json: string][]): string {
  const bytes = Buffer.from(events, 'latin1');
  const response = topLevelMembers(bytes, events.search(DATA_START)).get('response');
  if (!response) throw new UnusableAnswer('an event of the stream has no response');
  const { valueStart, valueEnd } = response;
  const object = bytes.subarray(valueStart, valueEnd);
  const edited = withMembers(object, topLevelMembers(object), values);
  return Buffer.concat([bytes.subarray(0, valueStart), edited, bytes.subarray(valueEnd)]).toString('latin1');
}

/** Where the JSON of an event begins. */
const DATA_START = /(?<=^data:\s*)\{/m;
