// The AI SDK's whole answer as OpenAI's `chat.completion`.
import { isDeepStrictEqual } from 'node:util';
import type { LanguageModelV4Content, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { UnusableAnswer } from '../../unusable-answer.ts';
import type { ChatOptions } from './chat-options.ts';
import { toFinishReason } from './finish-reason.ts';
import { toAnnotation, toImage, toReasoningDetail, toToolCall } from './message-parts.ts';
import { refusalOfAnswer } from './openai-refusal.ts';
import { toUsage } from './usage.ts';

export interface CompletionFrame {
  id: string;
  model: string;
  /** Seconds since the epoch. */
  created: number;
}

/** @throws UnusableAnswer when the maker reports that it failed. */
export function toCompletion(
  result: LanguageModelV4GenerateResult,
  frame: CompletionFrame,
  chatOptions: ChatOptions,
) {
  const { content, finishReason, usage, response, providerMetadata } = result;
  // Google's package reads any JSON. An empty answer may be right, but then the maker says why it ended.
  if (content.length === 0 && finishReason.raw === undefined)
    throw new UnusableAnswer('the answer has nothing in it');
  const refusal = refusalOfAnswer(response?.body);
  const counted = toUsage(usage, chatOptions);
  const logprobs = providerMetadata?.openai?.logprobs;
  return {
    id: response?.id ?? frame.id,
    object: 'chat.completion',
    created: response?.timestamp ? Math.floor(response.timestamp.getTime() / 1000) : frame.created,
    model: frame.model,
    choices: [
      {
        index: 0,
        message: toMessage(content, refusal),
        logprobs: logprobs ? { content: logprobs, refusal: null } : null,
        // OpenAI reports `stop` for a refusal in text, which its clients expect.
        finish_reason:
          refusal === null ? toFinishReason(chatOptions.finishOf?.(response?.body) ?? finishReason) : 'stop',
      },
    ],
    ...(counted && { usage: counted }),
  };
}

function toMessage(content: readonly LanguageModelV4Content[], refusal: string | null) {
  const said = content.map((part) => ({ part, text: part.type === 'text' ? part.text : '' }));
  const texts = said.map(({ text }) => text).filter((text) => text !== '');
  if (refusal !== null && texts.at(-1) === refusal) texts.pop();
  const reasoning = content.filter((part) => part.type === 'reasoning');
  const thoughts = reasoning.map(({ text }) => text).join('');
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.join('') : null,
    refusal,
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...listed(
      'reasoning_details',
      joined(reasoning).map((one) => toReasoningDetail(one.text, one.providerMetadata)),
    ),
    ...listed('tool_calls', content.filter((part) => part.type === 'tool-call').map(toToolCall)),
    ...listed('annotations', content.filter((part) => part.type === 'source').map(toAnnotation)),
    ...listed('images', content.filter((part) => part.type === 'file').map(toImage)),
  };
}

type Thought = Extract<LanguageModelV4Content, { type: 'reasoning' }>;

/** The parts of one summary have the same metadata, which may be long; it is needed once. */
function joined(reasoning: readonly Thought[]): Thought[] {
  const thoughts: Thought[] = [];
  for (const one of reasoning) {
    const last = thoughts.at(-1);
    if (last && isDeepStrictEqual(last.providerMetadata, one.providerMetadata)) last.text += one.text;
    else thoughts.push({ ...one });
  }
  return thoughts;
}

/** A member that is left out when it is empty. */
function listed(name: string, values: readonly unknown[]): Record<string, readonly unknown[]> {
  const present = values.filter((value) => value !== null);
  return present.length > 0 ? { [name]: present } : {};
}
