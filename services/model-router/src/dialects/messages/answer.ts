// Converts a whole chat answer to a message of the Messages API.
import { isExactInteger, parseExactly } from '../../json/exact-integers.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type ChatCompletion, type ChatMessage, reasoningOf } from '../chat-shapes.ts';
import { toStopReason } from './stop-reason.ts';
import { toThinkingBlocks } from './thoughts.ts';
import { toUsage } from './usage.ts';

/** Answer properties that the request sets. */
export interface AnswerFrame {
  /** Id of the message. */
  id: string;
  /** Whether thoughts are in the answer. */
  showsThinking: boolean;
  stopSequences: readonly string[];
}

export function toMessage({ model, choices, usage }: ChatCompletion, frame: AnswerFrame) {
  const [choice = {}] = choices;
  const { message = {} } = choice;
  return {
    id: frame.id,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(frame.showsThinking ? thinkingOf(message) : []),
      ...textOf(message),
      ...toolUsesOf(message, frame),
    ],
    ...toStopReason(choice, frame.stopSequences, {
      calledTools: (message.tool_calls ?? []).length > 0,
      refused: Boolean(message.refusal),
    }),
    usage: toUsage(usage),
  };
}

function thinkingOf(message: ChatMessage) {
  return toThinkingBlocks(reasoningOf(message), message.reasoning_details ?? []);
}

function textOf({ content, refusal }: ChatMessage) {
  const text = content || refusal;
  return text ? [{ type: 'text', text }] : [];
}

function toolUsesOf({ tool_calls: calls }: ChatMessage, frame: AnswerFrame) {
  return (calls ?? []).map(({ id, function: called }, index) => ({
    type: 'tool_use',
    id: toolUseId(id, index, frame),
    name: called?.name,
    input: inputOf(called?.arguments),
  }));
}

/** A call needs an id for its result; some makers send none. */
export function toolUseId(id: string | undefined, index: number, frame: AnswerFrame): string {
  return id || `${frame.id.replace(/^msg_/, 'toolu_')}_${index}`;
}

/** A call that was cut at the output limit, or that the model wrote wrong, keeps its text for the caller to see. */
function inputOf(text = ''): object {
  try {
    const input = parseExactly(text || '{}');
    if (isJsonObject(input) && !isExactInteger(input)) return input;
  } catch {}
  return { unparsed_arguments: text };
}
