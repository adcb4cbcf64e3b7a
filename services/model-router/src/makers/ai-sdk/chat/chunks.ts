// The AI SDK's stream as OpenAI's `chat.completion.chunk`s.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { UnusableAnswer } from '../../unusable-answer.ts';
import type { ChatOptions } from './chat-options.ts';
import type { CompletionFrame } from './completion.ts';
import { toExtraContent } from './extra-content.ts';
import { toFinishReason } from './finish-reason.ts';
import { toAnnotation, toImage, toReasoningDetail, toToolCall } from './message-parts.ts';
import { refusalOfChunk } from './openai-refusal.ts';
import { toUsage } from './usage.ts';

type Part<Type> = Extract<LanguageModelV4StreamPart, { type: Type }>;

const INTERRUPTED = { unified: 'interrupted', raw: undefined } as const;

/** Converts the parts of one stream to chunks, in order. */
export class ChunkMaker {
  readonly #frame: CompletionFrame;
  readonly #chatOptions: ChatOptions;
  #begun = false;
  #finished = false;
  /** Index of each tool call that has begun, by its id. */
  readonly #toolCalls = new Map<string, { index: number; hasArguments: boolean; hasExtra: boolean }>();
  /** Reasoning blocks by id. The maker signs a block at its start, at its end, or in between. */
  readonly #thoughts = new Map<
    string,
    { text: string; metadata: Part<'reasoning-end'>['providerMetadata'] }
  >();
  /** A refusal that the AI SDK returns next as text. */
  #refusal: string | null = null;
  #refused = false;

  constructor(frame: CompletionFrame, chatOptions: ChatOptions) {
    this.#frame = { ...frame };
    this.#chatOptions = chatOptions;
  }

  /** @throws UnusableAnswer when the stream ended without a finish part. */
  end(): void {
    if (!this.#finished)
      throw new UnusableAnswer(this.#begun ? 'the stream was cut short' : 'the stream has no events');
  }

  /**
   * The chunks of a part; most framing parts have none.
   * @throws the maker's reported error; UnusableAnswer when its stream was cut.
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
        return part.providerExecuted ? [] : this.#toolCallBegins(part);
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

  /** Clients of Gemini read the signature in the first piece of a call only. */
  #toolCallBegins({ id, toolName: name, providerMetadata }: Part<'tool-input-start'>): object[] {
    const index = this.#toolCalls.size;
    const extra = toExtraContent(providerMetadata);
    this.#toolCalls.set(id, { index, hasArguments: false, hasExtra: extra !== null });
    const call = { index, id, type: 'function', function: { name, arguments: '' } };
    return this.#delta({ tool_calls: [{ ...call, ...(extra && { extra_content: extra }) }] });
  }

  #toolCallGoesOn(id: string, delta: string): object[] {
    const call = this.#toolCalls.get(id);
    if (!call || delta === '') return [];
    call.hasArguments = true;
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: delta } }] });
  }

  /** A complete call: new when it was not streamed in pieces; it may also add the maker's metadata. */
  #toolCall(part: Part<'tool-call'>): object[] {
    const whole = toToolCall(part);
    if (!whole) return [];
    const begun = this.#toolCalls.get(whole.id);
    if (!begun) {
      const index = this.#toolCalls.size;
      this.#toolCalls.set(whole.id, { index, hasArguments: true, hasExtra: true });
      return this.#delta({ tool_calls: [{ index, ...whole }] });
    }
    const { index, hasArguments, hasExtra } = begun;
    const rest = {
      ...(!hasArguments && { function: { arguments: whole.function.arguments } }),
      ...(!hasExtra && whole.extra_content && { extra_content: whole.extra_content }),
    };
    begun.hasArguments = true;
    return Object.keys(rest).length === 0 ? [] : this.#delta({ tool_calls: [{ index, ...rest }] });
  }

  #finish({ finishReason, usage, providerMetadata }: Part<'finish'>): object[] {
    const { unified, raw } = finishReason;
    // Some packages do not notice that a stream was cut: the maker's reason is missing then.
    const reason = toFinishReason(unified === 'other' && raw === undefined ? INTERRUPTED : finishReason);
    this.#finished = true;
    const counted = toUsage(usage, this.#chatOptions);
    const logprobs = providerMetadata?.openai?.logprobs;
    const choice = {
      index: 0,
      delta: {},
      ...(logprobs && { logprobs: { content: logprobs, refusal: null } }),
      finish_reason: this.#refused ? 'stop' : reason,
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
