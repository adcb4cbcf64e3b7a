// The tools of a chat, as a person types them.

/** A tool as OpenAI's chat has it. */
interface Tool {
  readonly type: 'function';
  readonly function: { readonly name: string };
}

/** @returns undefined when the text is no JSON list of functions that have a name */
export function parseTools(text: string): Tool[] | undefined {
  try {
    const tools: unknown = JSON.parse(text);
    return Array.isArray(tools) && tools.every(isTool) ? tools : undefined;
  } catch {
    return undefined;
  }
}

function isTool(value: unknown): value is Tool {
  return typeof (value as Tool | null)?.function?.name === 'string';
}
