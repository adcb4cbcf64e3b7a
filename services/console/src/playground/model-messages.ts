// Messages of a chat, in OpenAI's form and in the AI SDK's.
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

export type Message =
  | { readonly role: 'user'; readonly content: string | readonly ContentPart[] }
  | { readonly role: 'assistant'; readonly content: string; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/** Converts messages to those of the AI SDK. */
export function toModelMessages(messages: readonly Message[]): unknown[] {
  const nameOf = (id: string) =>
    messages
      .flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []) : []))
      .find((call) => call.id === id)?.function.name;
  return messages.map((message) => {
    switch (message.role) {
      case 'user':
        return { role: 'user', content: userContent(message.content) };
      case 'assistant':
        return { role: 'assistant', content: assistantContent(message.content, message.tool_calls ?? []) };
      case 'tool': {
        const { tool_call_id: toolCallId, content } = message;
        const output = { type: 'text', value: content };
        return {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId, toolName: nameOf(toolCallId), output }],
        };
      }
      default:
        return message satisfies never;
    }
  });
}

function userContent(content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part : { type: 'image', image: part.image_url.url }));
}

/** Arguments are not JSON if the model was stopped while writing them, or there are none. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input === '' ? {} : input;
  }
}

function assistantContent(text: string, calls: readonly ToolCall[]): unknown {
  if (calls.length === 0) return text;
  return [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, function: { name, arguments: input } }) => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: parsed(input),
    })),
  ];
}
