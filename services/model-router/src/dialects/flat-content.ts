// Chat content as one text. Mistral's own API, and servers that copy it, send a list of parts with the thinking among them.
import { isJsonObject } from '../json/is-json-object.ts';
import { type ChatChunk, type ChatCompletion, type ChatMessage, reasoningOf } from './chat-shapes.ts';

type Said = Pick<ChatMessage, 'reasoning' | 'reasoning_content'>;
type Choice = { readonly message?: Said; readonly delta?: Said | null };

/** Turns lists of parts in the choices of a parsed answer or chunk into the text and the reasoning that they hold. */
export function flattenContent(answer: ChatCompletion | ChatChunk): void {
  if (!Array.isArray(answer.choices)) return;
  for (const { message, delta } of answer.choices as readonly Choice[])
    for (const said of [message, delta]) if (said) flatten(said);
}

function flatten(said: Said): void {
  const { content } = said as { content?: unknown };
  if (!Array.isArray(content)) return;
  const thoughts = content.map((part) => (isThinking(part) ? textOf(part.thinking) : ''));
  const texts = content.map((part) => (isThinking(part) ? '' : textOf(part)));
  Object.assign(said, {
    content: texts.join(''),
    reasoning_content: reasoningOf(said) + thoughts.join(''),
  });
}

function isThinking(part: unknown): part is { thinking?: unknown } {
  return isJsonObject(part) && part.type === 'thinking';
}

/** Of a text, of a part with a text, or of a list of these. */
function textOf(said: unknown): string {
  if (typeof said === 'string') return said;
  if (Array.isArray(said)) return said.map(textOf).join('');
  return isJsonObject(said) && typeof said.text === 'string' ? said.text : '';
}
