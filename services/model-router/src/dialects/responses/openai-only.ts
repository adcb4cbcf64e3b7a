// Tools that the caller runs and chat lacks, and their items: only OpenAI's own Responses takes them.
import {
  invalidParam,
  type ResponsesInputItem,
  type ResponsesRequest,
  type ServiceError,
} from '@switchyard/contracts';

const TOOL_TYPES: ReadonlySet<unknown> = new Set(['custom', 'local_shell', 'apply_patch']);
const ITEM_TYPE = /^(custom_tool|local_shell|apply_patch)_call(_output)?$/;
const ONLY_OPENAI = 'Only OpenAI’s own models accept this, without chat fields. Use functions.';

export function isOpenAiTool(tool: unknown): boolean {
  return TOOL_TYPES.has((tool as { type?: unknown } | null)?.type);
}

export function isOpenAiItem({ type = '' }: ResponsesInputItem): boolean {
  return ITEM_TYPE.test(type);
}

/** The error for other makers, naming the first such tool or item; null when chat can express all of them. */
export function refusalOfOpenAiOnly({
  input,
  tools,
  tool_choice: choice,
}: ResponsesRequest): ServiceError | null {
  const at =
    firstTool(tools ?? [], 'tools') ??
    (tools?.length && isOpenAiTool(choice) ? 'tool_choice' : null) ??
    firstItem(input);
  return at === null ? null : invalidParam(`${at}.type`, ONLY_OPENAI);
}

/** Path of the first such tool; a namespace has tools of its own. */
function firstTool(tools: readonly unknown[], at: string): string | null {
  for (const [index, tool] of tools.entries()) {
    if (isOpenAiTool(tool)) return `${at}.${index}`;
    const { tools: inner } = (tool ?? {}) as { tools?: unknown };
    const found = Array.isArray(inner) ? firstTool(inner, `${at}.${index}.tools`) : null;
    if (found !== null) return found;
  }
  return null;
}

function firstItem(input: ResponsesRequest['input']): string | null {
  const index = typeof input === 'string' ? -1 : input.findIndex(isOpenAiItem);
  return index < 0 ? null : `input.${index}`;
}
