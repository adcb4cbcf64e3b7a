// How local/chat composes a reply: tools to call, else tool results or rules, as JSON if requested.
import type { Turns } from '../turns.ts';
import type { ChatRequest } from './chat-request.ts';
import { type Conversation, readConversation } from './conversation.ts';
import { answerByRules } from './rules/index.ts';
import type { FillSchema } from './schema/schema-worker.ts';
import { structuredOutput } from './structured-output.ts';
import { type PlannedCall, planToolCalls } from './tool-calls.ts';
import { tellToolResults } from './tool-results.ts';

export type Reply = { type: 'text'; text: string } | { type: 'tool_calls'; calls: PlannedCall[] };

/** @throws LocalRefusal for a schema that cannot be filled. */
export async function composeReply(
  request: ChatRequest,
  now: Date,
  fill: FillSchema,
  turns: Turns,
): Promise<Reply> {
  const conversation = readConversation(request.messages, now);
  const { toolPolicy, format } = request;
  // Tools that were called have answered: they are called again only if the caller requires it.
  if (toolPolicy.required || conversation.toolResults.length === 0) {
    const calls = await planToolCalls(toolPolicy, conversation, fill, turns);
    if (calls.length > 0) return { type: 'tool_calls', calls };
  }
  const spoken = speak(conversation);
  return {
    type: 'text',
    text: format.type === 'text' ? spoken : await structuredOutput(format, conversation, spoken, fill),
  };
}

function speak(conversation: Conversation): string {
  return conversation.toolResults.length > 0
    ? tellToolResults(conversation.toolResults)
    : answerByRules(conversation);
}
