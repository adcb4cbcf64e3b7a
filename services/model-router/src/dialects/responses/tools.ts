// Function tools and the choice among them, from Responses to chat. Chat has no namespaces, so a function of a namespace
// has both names in one, and gets them back in the answer.
import type { ResponsesRequest } from '@switchyard/contracts';
import { refuse } from './refusal.ts';

interface ToolName {
  readonly name: string;
  readonly namespace?: string;
}

/** The functions of the request by their names in chat. */
export type ToolNames = ReadonlyMap<string, ToolName>;

type Tools = NonNullable<ResponsesRequest['tools']>;
type Tool = Tools[number];

const HOSTED = 'Hosted tools are not available. Use type function.';
const NAMESPACE_END = '__';

export function chatName({ name, namespace }: ToolName): string {
  return namespace === undefined ? name : `${namespace}${NAMESPACE_END}${name}`;
}

/** The functions that are in a namespace; the name of any other is the same in chat. */
export function toolNames(tools: ResponsesRequest['tools']): ToolNames {
  const names = (tools ?? [])
    .filter(({ type }) => type === 'namespace')
    .flatMap((tool) => functionsOf(tool).map(({ name = '' }) => ({ name, namespace: tool.name ?? '' })));
  return new Map(names.map((name) => [chatName(name), name]));
}

/** @throws ServiceError for a hosted tool, or a choice that chat cannot express */
export function toChatTools({
  tools,
  tool_choice: choice,
}: Pick<ResponsesRequest, 'tools' | 'tool_choice'>): Record<string, unknown> {
  if (!tools || tools.length === 0) return {};
  const functions = tools.flatMap((tool, index) =>
    tool.type === 'namespace'
      ? functionsOf(tool).map((one, at) => toChatTool(one, `tools.${index}.tools.${at}`, tool.name))
      : [toChatTool(tool, `tools.${index}`)],
  );
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

function functionsOf({ tools }: Tool): Tools {
  return Array.isArray(tools) ? (tools as Tools) : [];
}

function toChatTool(tool: Tool, at: string, namespace?: string) {
  const { type, name, description, parameters, strict } = tool;
  if (type !== 'function') throw refuse(`${at}.type`, HOSTED);
  if (name === undefined) throw refuse(`${at}.name`, 'Give the name of the function.');
  return {
    type,
    function: {
      name: chatName(namespace === undefined ? { name } : { name, namespace }),
      ...(description ? { description } : {}),
      ...(parameters ? { parameters } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

function nameOf(tool: unknown): string {
  const { name, namespace } = (tool ?? {}) as { name?: unknown; namespace?: unknown };
  if (typeof name !== 'string') throw refuse('tool_choice', 'Name the function.');
  return chatName(typeof namespace === 'string' ? { name, namespace } : { name });
}
