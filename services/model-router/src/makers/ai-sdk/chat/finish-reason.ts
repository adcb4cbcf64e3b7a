// Converts the AI SDK's finish reason to OpenAI's.
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import { UnusableAnswer } from '../../unusable-answer.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** @throws UnusableAnswer when the maker reports a failure, or its answer was cut. */
export function toFinishReason({ unified, raw }: LanguageModelV4FinishReason): FinishReason {
  switch (unified) {
    case 'stop':
    case 'other':
      return 'stop';
    case 'length':
      return 'length';
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return 'content_filter';
    case 'error':
      throw new UnusableAnswer(`the model failed: ${raw ?? 'the maker gives no reason'}`);
    case 'interrupted':
      throw new UnusableAnswer('the answer was cut short');
    default:
      return unified satisfies never;
  }
}
