// Converts the conversation of a Messages request to chat messages.
import type { MessagesRequest } from '@switchyard/contracts';
import type { ChatToolCall } from '../chat-shapes.ts';
import { type Reasoning, toReasoning } from './thoughts.ts';

type Message = MessagesRequest['messages'][number];
type Blocks<Role> = Exclude<Extract<Message, { role: Role }>['content'], string>;
type UserBlock = Blocks<'user'>[number];
type AssistantBlock = Blocks<'assistant'>[number];
type Block<Type> = Extract<UserBlock | AssistantBlock, { type: Type }>;
type ResultBlock = Exclude<Block<'tool_result'>['content'], string | null | undefined>[number];
type TextBlock = Block<'text'>;

type ChatPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } };

export type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | ChatPart[] }
  | ({ role: 'assistant'; content: string | null; tool_calls?: ChatToolCall[] } & Reasoning)
  | { role: 'tool'; tool_call_id: string; content: string };

const FILENAME = 'document.pdf';
/** Chat has no field for a failed tool. */
const FAILED = 'Error: ';
/** Chat's tool results are text, so a result's files follow in a user message. */
const FILES_FOLLOW = '(The files of this result follow in the next message.)';

export function toChatMessages({
  system,
  messages,
}: Pick<MessagesRequest, 'system' | 'messages'>): ChatMessage[] {
  const first = system ? systemMessages(system) : [];
  return [...first, ...messages.flatMap(convert)];
}

function convert(message: Message): ChatMessage[] {
  switch (message.role) {
    case 'system':
      return systemMessages(message.content);
    case 'user':
      return userMessages(message.content);
    case 'assistant':
      return [assistantMessage(message.content)];
    default:
      return message satisfies never;
  }
}

function systemMessages(content: string | TextBlock[]): ChatMessage[] {
  const text = typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
  return text === '' ? [] : [{ role: 'system', content: text }];
}

/** Results of tools are messages of their own, and come first, right after their calls. */
function userMessages(content: string | UserBlock[]): ChatMessage[] {
  if (typeof content === 'string') return [{ role: 'user', content }];
  const results: ChatMessage[] = [];
  const parts: ChatPart[] = [];
  for (const block of content) {
    if (block.type !== 'tool_result') {
      parts.push(...toParts(block));
      continue;
    }
    const { text, files } = readResult(block);
    results.push({ role: 'tool', tool_call_id: block.tool_use_id, content: text });
    parts.push(...files);
  }
  return parts.length === 0 ? results : [...results, { role: 'user', content: plainIfText(parts) }];
}

function readResult({ content, is_error: failed }: Block<'tool_result'>): {
  text: string;
  files: ChatPart[];
} {
  const blocks: ResultBlock[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const parts = blocks.flatMap(toParts);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const files = parts.filter(({ type }) => type !== 'text');
  if (files.length > 0) texts.push(FILES_FOLLOW);
  return { text: (failed ? FAILED : '') + texts.join('\n'), files };
}

function toParts(block: ResultBlock): ChatPart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: urlOf(block.source) } }];
    case 'document':
      return documentParts(block);
    default:
      return block satisfies never;
  }
}

function documentParts({ source, title, context }: Block<'document'>): ChatPart[] {
  const about = [title, context].filter((text) => typeof text === 'string' && text !== '').join('\n');
  const before: ChatPart[] = about === '' ? [] : [{ type: 'text', text: about }];
  switch (source.type) {
    case 'text':
      return [...before, { type: 'text', text: source.data }];
    case 'content':
      if (typeof source.content === 'string') return [...before, { type: 'text', text: source.content }];
      return [...before, ...source.content.flatMap(toParts)];
    case 'base64':
    case 'url': {
      const file = { filename: title || FILENAME, file_data: urlOf(source) };
      return [...(context ? [{ type: 'text', text: context } as const] : []), { type: 'file', file }];
    }
    default:
      return source satisfies never;
  }
}

function urlOf(source: Block<'image'>['source']): string {
  return source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
}

/** Text alone becomes a string, which every server understands. */
function plainIfText(parts: ChatPart[]): string | ChatPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n') : parts;
}

function assistantMessage(content: string | AssistantBlock[]): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content };
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [toToolCall(block)] : []));
  const thoughts = content.filter((block) => block.type === 'thinking' || block.type === 'redacted_thinking');
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.join('') : null,
    ...toReasoning(thoughts),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function toToolCall({ id, name, input }: Block<'tool_use'>): ChatToolCall {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}
