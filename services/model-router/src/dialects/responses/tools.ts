// Function tools and the choice among them, from Responses to chat. Chat has no namespaces, so a function of a namespace
// gets both names joined, which the answer splits.
import { invalidParam, type ResponsesRequest } from '@switchyard/contracts';
import { isOpenAiTool } from './openai-only.ts';

interface ToolName {
  readonly name: string;
  readonly namespace?: string;
}

/** The functions of the request by their names in chat. */
export type ToolNames = ReadonlyMap<string, ToolName>;

type Tools = NonNullable<ResponsesRequest['tools']>;
type Tool = Tools[number];

const HOSTED = 'Hosted tools are not available. Use type function, or custom with OpenAI’s own models.';
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
      ? functionsOf(tool).flatMap((one, at) => toChatTool(one, `tools.${index}.tools.${at}`, tool.name))
      : toChatTool(tool, `tools.${index}`),
  );
  // Not for chat: they count for the price.
  const openAiTools = tools.flatMap((tool) => [tool, ...functionsOf(tool)]).filter(isOpenAiTool);
  const all = { tools: [...functions, ...openAiTools] };
  if (choice === null || choice === undefined) return all;
  if (typeof choice === 'string') return { ...all, tool_choice: choice };
  if (choice.type === 'function')
    return { ...all, tool_choice: { type: 'function', function: { name: nameOf(choice) } } };
  if (isOpenAiTool(choice)) return { ...all, tool_choice: choice };
  if (choice.type !== 'allowed_tools') throw invalidParam('tool_choice.type', HOSTED);
  const named = functionsOf(choice).filter((one) => !isOpenAiTool(one));
  const allowed = new Set(named.map(nameOf));
  return {
    tools: [...functions.filter(({ function: { name } }) => allowed.has(name)), ...openAiTools],
    tool_choice: choice.mode ?? 'auto',
  };
}

function functionsOf({ tools }: { [member: string]: unknown }): Tools {
  return Array.isArray(tools) ? tools.map((tool) => (tool ?? {}) as Tool) : [];
}

/** One function; none for a tool that only OpenAI takes. */
function toChatTool(tool: Tool, at: string, namespace?: string) {
  const { type, name, description, parameters, strict } = tool;
  if (isOpenAiTool(tool)) return [];
  if (type !== 'function') throw invalidParam(`${at}.type`, HOSTED);
  if (name === undefined) throw invalidParam(`${at}.name`, 'Give the name of the function.');
  const described = {
    name: chatName(namespace === undefined ? { name } : { name, namespace }),
    ...(description ? { description } : {}),
    ...(parameters ? { parameters } : {}),
    ...(typeof strict === 'boolean' ? { strict } : {}),
  };
  return [{ type, function: described }];
}

function nameOf(tool: unknown): string {
  const { name, namespace } = (tool ?? {}) as { name?: unknown; namespace?: unknown };
  if (typeof name !== 'string') throw invalidParam('tool_choice', 'Name the function.');
  return chatName(typeof namespace === 'string' ? { name, namespace } : { name });
}
