// The members of chat answers and chunks that dialects read. Makers may leave out any of them, and send more.
import type { ChatReasoningDetail } from '@switchyard/contracts';

export interface ChatUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
  readonly prompt_tokens_details?: {
    readonly cached_tokens?: number;
    readonly cache_write_tokens?: number;
    readonly cache_write_1h_tokens?: number;
  } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null;
  /** Dollars. */
  readonly cost: number;
}

export interface ChatToolCall {
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
  readonly extra_content?: Readonly<Record<string, unknown>> | null;
}

/** A whole message, or the part of it that a chunk adds. */
export interface ChatMessage<Call = ChatToolCall> {
  readonly content?: string | null;
  readonly refusal?: string | null;
  /** DeepSeek's and vLLM's name; ours too. */
  readonly reasoning_content?: string | null;
  /** OpenRouter's and Ollama's name. */
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly ChatReasoningDetail[] | null;
  readonly tool_calls?: readonly Call[] | null;
  readonly annotations?: readonly unknown[] | null;
}

export interface ChatCompletion {
  readonly id?: string;
  readonly created?: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index?: number;
    readonly message?: ChatMessage;
    readonly finish_reason?: string | null;
    /** vLLM's: the stop sequence that ended the answer. */
    readonly stop_reason?: unknown;
  }[];
  readonly usage: ChatUsage;
}

/** The piece of a tool call in a chunk; its first piece has the id and the name. */
export interface ChatToolCallPiece extends ChatToolCall {
  readonly index?: number;
}

export interface ChatChunk {
  readonly id?: string;
  readonly created?: number;
  readonly model?: string;
  readonly choices?:
    | readonly {
        readonly index?: number;
        readonly delta?: ChatMessage<ChatToolCallPiece> | null;
        readonly finish_reason?: string | null;
        /** vLLM's: the stop sequence that ended the answer. */
        readonly stop_reason?: unknown;
      }[]
    | null;
  readonly usage?: ChatUsage | null;
}

/** The reasoning text of a message or a chunk, under either of its names. */
export function reasoningOf(message: Pick<ChatMessage, 'reasoning' | 'reasoning_content'>): string {
  return message.reasoning_content ?? message.reasoning ?? '';
}
