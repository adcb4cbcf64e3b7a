// The items of a conversation as chat messages. Neighbouring items of the assistant (reasoning, text, calls) are one
// message, since chat keeps all calls of a turn together.
import { type ChatReasoningDetail, invalidParam, type ResponsesInputItem } from '@switchyard/contracts';
import type { ChatToolCall } from '../chat-shapes.ts';
import {
  type ChatPart,
  type InputPart,
  refuseLongCaching,
  toChatContent,
  toText,
  toToolOutput,
} from './content-parts.ts';
import { isOpenAiItem } from './openai-only.ts';
import { unsealReasoning } from './sealed-reasoning.ts';
import { chatName } from './tools.ts';

type Message = Record<string, unknown>;

interface AssistantTurn {
  texts: string[];
  reasoning: ChatReasoningDetail[];
  calls: ChatToolCall[];
}

const NOT_STORED = 'Items are not stored. Send the item itself; some clients do with `store: false`.';

/** @throws ServiceError naming the item or member that chat cannot express */
export function toMessages(input: string | readonly ResponsesInputItem[]): Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: Message[] = [];
  let turn: AssistantTurn | null = null;
  const endTurn = () => {
    const message = turn && toAssistantMessage(turn);
    if (message) messages.push(message);
    turn = null;
  };
  // Chat keeps the outputs of one turn together, so their files come after the last of them.
  let files: ChatPart[] = [];
  const endOutputs = () => {
    if (files.length > 0) messages.push({ role: 'user', content: files });
    files = [];
  };
  for (const [index, item] of input.entries()) {
    const at = `input.${index}`;
    refuseLongCaching(item.content, `${at}.content`);
    refuseLongCaching(item.output, `${at}.output`);
    if (item.type !== 'function_call_output') endOutputs();
    if (isOfAssistant(item)) {
      turn ??= { texts: [], reasoning: [], calls: [] };
      addToTurn(turn, item, at);
    } else {
      endTurn();
      if (item.type === 'function_call_output') {
        const output = toToolMessage(item, at);
        messages.push(output.message);
        files.push(...output.files);
      } else messages.push(toMessage(item, at));
    }
  }
  endTurn();
  endOutputs();
  return messages;
}

function isOfAssistant({ type = 'message', role }: ResponsesInputItem): boolean {
  return type === 'reasoning' || type === 'function_call' || (type === 'message' && role === 'assistant');
}

function addToTurn(turn: AssistantTurn, item: ResponsesInputItem, at: string): void {
  if (item.type === 'reasoning') turn.reasoning.push(...unsealReasoning(item.encrypted_content ?? ''));
  else if (item.type === 'function_call') turn.calls.push(toToolCall(item, at));
  else turn.texts.push(toText(contentOf(item), `${at}.content`));
}

function toToolCall(item: ResponsesInputItem, at: string) {
  const { call_id: id, name, arguments: given } = item;
  if (id === undefined) throw invalidParam(`${at}.call_id`, 'Give the id of the call.');
  if (name === undefined) throw invalidParam(`${at}.name`, 'Give the name of the function.');
  const namespace = item.namespace as string | undefined;
  const extra = item.extra_content as ChatToolCall['extra_content'];
  return {
    id,
    type: 'function',
    function: {
      name: chatName({ name, ...(namespace === undefined ? {} : { namespace }) }),
      arguments: given ?? '',
    },
    ...(extra ? { extra_content: extra } : {}),
  };
}

/** Null for a turn of reasoning that no maker needs back. */
function toAssistantMessage({ texts, reasoning, calls }: AssistantTurn): Message | null {
  if (texts.length === 0 && reasoning.length === 0 && calls.length === 0) return null;
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join('\n'),
    ...(reasoning.length > 0 ? { reasoning_details: reasoning } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function toToolMessage(
  { call_id: id, output }: ResponsesInputItem,
  at: string,
): { message: Message; files: ChatPart[] } {
  if (id === undefined) throw invalidParam(`${at}.call_id`, 'Give the id of the call.');
  if (output === undefined) throw invalidParam(`${at}.output`, 'Give the function’s result.');
  const { text, files } = toToolOutput(output as string | InputPart[], `${at}.output`);
  return { message: { role: 'tool', tool_call_id: id, content: text }, files };
}

function toMessage(item: ResponsesInputItem, at: string): Message {
  if (isOpenAiItem(item)) return item;
  switch (item.type ?? 'message') {
    case 'message':
      return { role: roleOf(item, at), content: toChatContent(contentOf(item), `${at}.content`) };
    case 'item_reference':
      throw invalidParam(at, NOT_STORED);
    default:
      throw invalidParam(`${at}.type`, 'Use message, function_call, function_call_output or reasoning.');
  }
}

/** `developer` is OpenAI's name for `system`, which every maker reads. */
function roleOf({ role }: ResponsesInputItem, at: string): string {
  if (role === 'user' || role === 'system') return role;
  if (role === 'developer') return 'system';
  throw invalidParam(`${at}.role`, 'Use user, assistant, system or developer.');
}

function contentOf({ content }: ResponsesInputItem): string | InputPart[] {
  return (content ?? '') as string | InputPart[];
}
