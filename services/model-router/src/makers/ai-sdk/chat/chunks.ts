// The AI SDK's stream as OpenAI's `chat.completion.chunk`s.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { UnusableAnswer } from '../../../answers/unusable-answer.ts';
import type { ChatHabits } from '../declaration.ts';
import type { CompletionFrame } from './completion.ts';
import { toFinishReason } from './finish-reason.ts';
import { toAnnotation, toImage, toReasoningDetail, toToolCall } from './message-parts.ts';
import { refusalOfChunk } from './openai-refusal.ts';
import { toUsage } from './usage.ts';

type Part<Type> = Extract<LanguageModelV4StreamPart, { type: Type }>;

/** Turns the parts of one stream into chunks, one after the other. */
export class ChunkMaker {
  readonly #frame: CompletionFrame;
  readonly #habits: ChatHabits;
  #begun = false;
  #finished = false;
  /** Index of each tool call that has begun, by its id. */
  readonly #toolCalls = new Map<string, { index: number; hasArguments: boolean }>();
  /** Stretches of thinking, by their id: signed at their beginning, at their end, or in between. */
  readonly #thoughts = new Map<
    string,
    { text: string; metadata: Part<'reasoning-end'>['providerMetadata'] }
  >();
  /** A refusal that the AI SDK is about to give as text. */
  #refusal: string | null = null;
  #refused = false;

  constructor(frame: CompletionFrame, habits: ChatHabits) {
    this.#frame = { ...frame };
    this.#habits = habits;
  }

  /** @throws UnusableAnswer where the stream ended without having said so. */
  end(): void {
    if (!this.#finished)
      throw new UnusableAnswer(this.#begun ? 'the stream was cut short' : 'the stream has no events');
  }

  /**
   * The chunks that a part becomes; none of most of the frame around the words.
   * @throws what the maker reported as an error; UnusableAnswer where its stream was cut off.
   */
  chunksOf(part: LanguageModelV4StreamPart): object[] {
    switch (part.type) {
      case 'response-metadata':
        if (part.id) this.#frame.id = part.id;
        if (part.timestamp) this.#frame.created = Math.floor(part.timestamp.getTime() / 1000);
        return [];
      case 'raw':
        this.#refusal = refusalOfChunk(part.rawValue);
        return [];
      case 'text-delta':
        return this.#text(part);
      case 'reasoning-start':
        this.#thoughts.set(part.id, { text: '', metadata: part.providerMetadata });
        return [];
      case 'reasoning-delta':
        return this.#thinking(part);
      case 'reasoning-end':
        return this.#thought(part);
      case 'tool-input-start':
        return part.providerExecuted ? [] : this.#toolCallBegins(part.id, part.toolName);
      case 'tool-input-delta':
        return this.#toolCallGoesOn(part.id, part.delta);
      case 'tool-call':
        return this.#toolCall(part);
      case 'source':
        return this.#listed('annotations', toAnnotation(part));
      case 'file':
        return this.#listed('images', toImage(part));
      case 'error':
        throw part.error;
      case 'finish':
        return this.#finish(part);
      default:
        return [];
    }
  }

  #text({ delta }: Part<'text-delta'>): object[] {
    if (delta === '') return [];
    if (delta !== this.#refusal) return this.#delta({ content: delta });
    this.#refusal = null;
    this.#refused = true;
    return this.#delta({ refusal: delta });
  }

  #thinking({ id, delta, providerMetadata }: Part<'reasoning-delta'>): object[] {
    const thought = this.#thoughts.get(id);
    if (thought) {
      thought.text += delta;
      thought.metadata = providerMetadata ?? thought.metadata;
    }
    return delta === '' ? [] : this.#delta({ reasoning_content: delta });
  }

  #thought({ id, providerMetadata }: Part<'reasoning-end'>): object[] {
    const { text = '', metadata } = this.#thoughts.get(id) ?? {};
    return this.#listed('reasoning_details', toReasoningDetail(text, providerMetadata ?? metadata));
  }

  #toolCallBegins(id: string, name: string): object[] {
    const index = this.#toolCalls.size;
    this.#toolCalls.set(id, { index, hasArguments: false });
    return this.#delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
  }

  #toolCallGoesOn(id: string, delta: string): object[] {
    const call = this.#toolCalls.get(id);
    if (!call || delta === '') return [];
    call.hasArguments = true;
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: delta } }] });
  }

  /** The whole call: news of those that did not come in pieces, and of what the maker wants back with it. */
  #toolCall(part: Part<'tool-call'>): object[] {
    const whole = toToolCall(part);
    if (!whole) return [];
    const begun = this.#toolCalls.get(whole.id);
    if (!begun) {
      const index = this.#toolCalls.size;
      this.#toolCalls.set(whole.id, { index, hasArguments: true });
      return this.#delta({ tool_calls: [{ index, ...whole }] });
    }
    const { index, hasArguments } = begun;
    const rest = {
      ...(!hasArguments && { function: { arguments: whole.function.arguments } }),
      ...(whole.extra_content && { extra_content: whole.extra_content }),
    };
    begun.hasArguments = true;
    return Object.keys(rest).length === 0 ? [] : this.#delta({ tool_calls: [{ index, ...rest }] });
  }

  #finish({ finishReason, usage, providerMetadata }: Part<'finish'>): object[] {
    this.#finished = true;
    const reason = this.#refused ? 'stop' : toFinishReason(finishReason);
    const counted = toUsage(usage, this.#habits);
    const logprobs = providerMetadata?.openai?.logprobs;
    const choice = {
      index: 0,
      delta: {},
      ...(logprobs && { logprobs: { content: logprobs, refusal: null } }),
      finish_reason: reason,
    };
    const last = { ...this.#head(), choices: [choice] };
    return counted ? [last, { ...this.#head(), choices: [], usage: counted }] : [last];
  }

  #listed(name: string, value: object | null): object[] {
    return value === null ? [] : this.#delta({ [name]: [value] });
  }

  #delta(delta: object): object[] {
    const role = this.#begun ? {} : { role: 'assistant' };
    this.#begun = true;
    return [{ ...this.#head(), choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason: null }] }];
  }

  #head() {
    const { id, created, model } = this.#frame;
    return { id, object: 'chat.completion.chunk', created, model };
  }
}
