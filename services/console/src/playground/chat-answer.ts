// A streamed chat completion, assembled from its chunks.
import type { chatCompletionChunk } from '@switchyard/contracts';
import { serverEvents } from '../api/server-events.ts';
import type { ToolCall } from './model-messages.ts';

type Chunk = (typeof chatCompletionChunk)['_output'] & { error?: { message: string } };
type ToolCallDelta = NonNullable<Chunk['choices'][number]['delta']['tool_calls']>[number];

/** What has been received of an answer so far. */
export interface ChatAnswer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** The model that answers: a fallback, if the first one could not. */
  readonly model: string | null;
  readonly usage: Chunk['usage'] | null;
}

export const NO_ANSWER: ChatAnswer = { text: '', toolCalls: [], model: null, usage: null };

/** @throws Error when the stream ends with an error */
export async function* chatAnswers(response: Response): AsyncGenerator<ChatAnswer> {
  let answer = NO_ANSWER;
  for await (const { data } of serverEvents(response)) {
    if (data === '' || data === '[DONE]') continue;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error) throw new Error(chunk.error.message);
    const { delta } = chunk.choices?.[0] ?? {};
    answer = {
      text: answer.text + (delta?.content || delta?.refusal || ''),
      toolCalls: (delta?.tool_calls ?? []).reduce(withDelta, answer.toolCalls),
      model: chunk.model ?? answer.model,
      usage: chunk.usage ?? answer.usage,
    };
    yield answer;
  }
}

function withDelta(calls: readonly ToolCall[], { index = 0, id, function: part }: ToolCallDelta): ToolCall[] {
  const before = calls[index] ?? { id: '', type: 'function', function: { name: '', arguments: '' } };
  const after: ToolCall = {
    ...before,
    id: id ?? before.id,
    function: {
      name: before.function.name + (part?.name ?? ''),
      arguments: before.function.arguments + (part?.arguments ?? ''),
    },
  };
  return [...calls.slice(0, index), after, ...calls.slice(index + 1)];
}
