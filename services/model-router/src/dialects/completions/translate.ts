// OpenAI's legacy completions: the prompt is one user message, and the text of the answer is the completion.
import { OPENAI_ERRORS } from '@switchyard/contracts';
import type { ChatChunk, ChatCompletion } from '../chat-shapes.ts';
import type { StreamTranslator, Translate } from '../dialect.ts';

export const translateCompletion: Translate = ({ prompt, echo: _, best_of: __, ...rest }) => ({
  chat: { ...rest, messages: [{ role: 'user', content: [prompt].flat()[0] }] },
  answer: toTextCompletion,
  stream: () => COMPLETION_STREAM,
});

function toTextCompletion({ choices, ...rest }: ChatCompletion): object {
  return {
    ...rest,
    id: textCompletionId(rest.id),
    object: 'text_completion',
    choices: choices.map(({ index = 0, message, finish_reason = null }) => ({
      index,
      text: message?.content ?? message?.refusal ?? '',
      logprobs: null,
      finish_reason,
    })),
  };
}

/** Chunks are converted one by one. */
const COMPLETION_STREAM: StreamTranslator = {
  push: (chunk) => `data: ${JSON.stringify(toTextChunk(chunk))}\n\n`,
  end: () => 'data: [DONE]\n\n',
  fail: OPENAI_ERRORS.streamEnd,
};

function toTextChunk({ choices, ...rest }: ChatChunk): object {
  return {
    ...rest,
    id: textCompletionId(rest.id),
    object: 'text_completion',
    choices: (choices ?? []).map(({ index = 0, delta, finish_reason = null }) => ({
      index,
      text: delta?.content ?? delta?.refusal ?? '',
      logprobs: null,
      finish_reason,
    })),
  };
}

function textCompletionId(id = ''): string {
  return `cmpl-${id.replace(/^chatcmpl-/, '')}`;
}
