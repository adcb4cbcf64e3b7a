// Function tools and the choice among them, from Responses to chat.
import type { ResponsesRequest } from '@switchyard/contracts';
import { refuse } from './refusal.ts';

type Tools = NonNullable<ResponsesRequest['tools']>;

const HOSTED = 'Hosted tools are not available. Use type function.';

/** @throws ServiceError for a hosted tool, or a choice that chat cannot express */
export function toChatTools({
  tools,
  tool_choice: choice,
}: Pick<ResponsesRequest, 'tools' | 'tool_choice'>): Record<string, unknown> {
  if (!tools || tools.length === 0) return {};
  const functions = tools.map(toChatTool);
  if (choice === null || choice === undefined) return { tools: functions };
  if (typeof choice === 'string') return { tools: functions, tool_choice: choice };
  if (choice.type === 'function')
    return { tools: functions, tool_choice: { type: 'function', function: { name: nameOf(choice) } } };
  if (choice.type !== 'allowed_tools') throw refuse('tool_choice.type', HOSTED);
  const allowed = new Set(((choice.tools as unknown[] | undefined) ?? []).map(nameOf));
  return {
    tools: functions.filter(({ function: { name } }) => allowed.has(name)),
    tool_choice: choice.mode ?? 'auto',
  };
}

function toChatTool({ type, name, description, parameters, strict }: Tools[number], index: number) {
  if (type !== 'function') throw refuse(`tools.${index}.type`, HOSTED);
  if (name === undefined) throw refuse(`tools.${index}.name`, 'Give the name of the function.');
  return {
    type,
    function: {
      name,
      ...(description ? { description } : {}),
      ...(parameters ? { parameters } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

function nameOf(tool: unknown): string {
  const { name } = (tool ?? {}) as { name?: unknown };
  if (typeof name === 'string') return name;
  throw refuse('tool_choice', 'Name the function.');
}
