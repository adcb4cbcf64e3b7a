// Tools in OpenAI's chat: which of them the provider package can read, and which efforts of reasoning OpenAI takes with them.
import type { ChatRequest } from '../ai-sdk/chat/request.ts';
import { UnsupportedField } from '../ai-sdk/translation.ts';

const ONLY_FUNCTIONS = 'Chat has functions only. Send custom tools to POST /v1/responses.';
const NO_TOOLS = 'OpenAI takes no tools for this model in chat. Use POST /v1/responses.';
const NO_EFFORT =
  'OpenAI takes tools for this model in chat with none only. Use none, or POST /v1/responses.';

/** Models that OpenAI's chat refuses tools with reasoning for, which is their default. */
const TOOLS_WITHOUT_REASONING = /^gpt-(5\.6|6)(\W|$)/;
/** Those of them that always reason. */
const ALWAYS_REASONING = /^gpt-6(-astra|\.\d+-sol)(\W|$)/;

/**
 * The effort that the model needs with the tools.
 * @throws UnsupportedField for a tool that is no function, and for tools that the model does not take
 */
export function prepareTools(request: ChatRequest, model: string): { reasoning_effort?: 'none' } {
  const { tools, tool_choice: choice, reasoning_effort: effort } = request;
  if (!tools?.length) return {};
  const other = tools.findIndex(({ type }) => type !== 'function');
  // The package cannot read the call of another tool, which OpenAI has billed by then.
  if (other >= 0) throw new UnsupportedField(`tools.${other}.type`, ONLY_FUNCTIONS);
  if (typeof choice === 'object' && choice?.type === 'custom')
    throw new UnsupportedField('tool_choice.type', ONLY_FUNCTIONS);
  if (!TOOLS_WITHOUT_REASONING.test(model)) return {};
  if (ALWAYS_REASONING.test(model)) throw new UnsupportedField('tools', NO_TOOLS);
  if (effort && effort !== 'none') throw new UnsupportedField('reasoning_effort', NO_EFFORT);
  return { reasoning_effort: 'none' };
}
