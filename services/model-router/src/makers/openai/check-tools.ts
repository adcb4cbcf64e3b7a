// Tools in OpenAI's chat. Its provider package reads only calls of functions, so the answer to another tool would be lost
// after OpenAI has billed it.
import type { ChatRequest } from '../ai-sdk/chat/request.ts';
import { UnsupportedField } from '../ai-sdk/translation.ts';

const ONLY_FUNCTIONS = 'Chat has functions only. Send custom tools to POST /v1/responses.';

/** @throws UnsupportedField for a tool that is no function */
export function checkTools({ tools, tool_choice: choice }: ChatRequest): void {
  const other = tools?.findIndex(({ type }) => type !== 'function') ?? -1;
  if (other >= 0) throw new UnsupportedField(`tools.${other}.type`, ONLY_FUNCTIONS);
  if (typeof choice === 'object' && choice?.type === 'custom')
    throw new UnsupportedField('tool_choice.type', ONLY_FUNCTIONS);
}
