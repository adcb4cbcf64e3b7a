// Chat content as one text. Mistral's own API, and servers that copy it, send a list of parts with the thinking among them.
import { isJsonObject } from '../json/is-json-object.ts';
import { type ChatChunk, type ChatCompletion, type ChatMessage, reasoningOf } from './chat-shapes.ts';

/** The parsed answer or chunk; in its choices, lists of parts become the text and the reasoning that they hold. */
export function withFlatContent<Answer extends ChatCompletion | ChatChunk>(answer: Answer): Answer {
  if (!Array.isArray(answer.choices)) return answer;
  return { ...answer, choices: answer.choices.map(withFlatChoice) };
}

function withFlatChoice<Choice extends { message?: object; delta?: object | null }>(choice: Choice): Choice {
  const { message, delta } = choice;
  return { ...choice, ...(message && { message: flat(message) }), ...(delta && { delta: flat(delta) }) };
}

function flat(said: Pick<ChatMessage, 'reasoning' | 'reasoning_content'>): object {
  const { content } = said as { content?: unknown };
  if (!Array.isArray(content)) return said;
  const thoughts = content.map((part) => (isThinking(part) ? textOf(part.thinking) : ''));
  const texts = content.map((part) => (isThinking(part) ? '' : textOf(part)));
  return {
    ...said,
    content: texts.join(''),
    reasoning_content: reasoningOf(said) + thoughts.join(''),
  };
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
