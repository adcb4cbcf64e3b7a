// The messages as the rules see them: what is said now, and what was said before.
import { sentencesOf } from '../text/sentences.ts';
import type { ChatMessage } from './chat-request.ts';

/** Characters of one message that the rules read; counting tokens reads all of it. */
const MESSAGE_LENGTH_READ_MAX = 100_000;
/**
 * Characters of an instruction: some regular expressions of the rules take quadratic time. The instruction of a longer
 * message is its beginning and its end, because quoted text is usually between or after them.
 */
const INSTRUCTION_LENGTH_MAX = 2_000;
/** Characters of all earlier messages that are searched, the latest messages first. */
const EARLIER_LENGTH_READ_MAX = 200_000;
/** Sentences that are searched, the latest kept. */
const STATEMENTS_MAX = 2_000;

export interface Statement {
  role: ChatMessage['role'];
  sentence: string;
}

export interface ToolResult {
  tool: string;
  text: string;
}

export interface Conversation {
  /** The user's last message. */
  said: string;
  /** The part of it that may ask for something. */
  instruction: string;
  /** Notes on its images. */
  images: string[];
  /** Everything before it, oldest first. */
  earlier: ChatMessage[];
  /** Tool results after the last user or assistant message, in order. */
  toolResults: ToolResult[];
  now: Date;
}

export function readConversation(messages: readonly ChatMessage[], now: Date): Conversation {
  const lastUser = messages.findLastIndex((message) => message.role === 'user');
  const asked = messages[lastUser] ?? messages.at(-1);
  const said = (asked?.text ?? '').slice(0, MESSAGE_LENGTH_READ_MAX).trim();
  return {
    said,
    instruction: instructionOf(said),
    images: asked?.images ?? [],
    earlier: messages.slice(0, Math.max(lastUser, 0)),
    toolResults: freshToolResults(messages),
    now,
  };
}

function instructionOf(said: string): string {
  const half = INSTRUCTION_LENGTH_MAX / 2;
  return said.length <= INSTRUCTION_LENGTH_MAX ? said : `${said.slice(0, half)}\n${said.slice(-half)}`;
}

/** Sentences of the earlier messages and the current one, without questions. */
export function statementsOf({ earlier, said }: Conversation): Statement[] {
  const before = latest(earlier).flatMap(({ role, text }) =>
    sentencesOf(text).map((sentence) => ({ role, sentence })),
  );
  const present = sentencesOf(said).map((sentence) => ({ role: 'user' as const, sentence }));
  return [...before, ...present].filter(({ sentence }) => !sentence.endsWith('?')).slice(-STATEMENTS_MAX);
}

/** The latest messages, and what is read of them, in order. */
function latest(messages: readonly ChatMessage[]): Pick<ChatMessage, 'role' | 'text'>[] {
  const read: Pick<ChatMessage, 'role' | 'text'>[] = [];
  let left = EARLIER_LENGTH_READ_MAX;
  for (const { role, text } of messages.toReversed()) {
    if (left === 0) break;
    const beginning = text.slice(0, Math.min(left, MESSAGE_LENGTH_READ_MAX));
    left -= beginning.length;
    read.push({ role, text: beginning });
  }
  return read.reverse();
}

function freshToolResults(messages: readonly ChatMessage[]): ToolResult[] {
  const start = messages.findLastIndex((message) => message.role !== 'tool') + 1;
  const tools = new Map(messages[start - 1]?.toolCalls.map(({ id, name }) => [id, name]));
  return messages.slice(start).map(({ answers, text }) => ({
    tool: tools.get(answers ?? '') ?? 'the tool',
    text: text.slice(0, MESSAGE_LENGTH_READ_MAX),
  }));
}
