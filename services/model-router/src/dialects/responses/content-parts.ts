// Parts of a message's content, from Responses to chat.
import { invalidParam } from '@switchyard/contracts';

export interface InputPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

export type ChatPart = { type: 'text'; text: string } | { type: string; [member: string]: unknown };

/** The text of a function's output that has none. */
const FILES_FOLLOW = 'The output follows in the next message.';

/** How long OpenAI's cache keeps a part at the catalog's price; its `prompt_cache_options` are priced members. */
const CACHE_TTL = '30m';

/** @throws ServiceError for a part with another cache time, which changes the price */
export function refuseLongCaching(content: unknown, at: string): void {
  if (!Array.isArray(content)) return;
  for (const [index, part] of (content as InputPart[]).entries()) {
    const { ttl } = (part.prompt_cache_breakpoint ?? {}) as { ttl?: unknown };
    if (ttl !== undefined && ttl !== null && ttl !== CACHE_TTL)
      throw invalidParam(
        `${at}.${index}.prompt_cache_breakpoint.ttl`,
        `Another TTL changes the price. Use the default, ${CACHE_TTL}.`,
      );
  }
}

/** A single text stays a string, which every maker reads. @throws ServiceError naming the part */
export function toChatContent(content: string | readonly InputPart[], at: string): string | ChatPart[] {
  if (typeof content === 'string') return content;
  const parts = content.map((part, index) => toChatPart(part, `${at}.${index}`));
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? (only.text as string) : parts;
}

/** @throws ServiceError for a part that is no text */
export function toText(content: string | readonly InputPart[], at: string): string {
  if (typeof content === 'string') return content;
  return content
    .map((part, index) => {
      const chat = part.type === 'refusal' ? part.refusal : toChatPart(part, `${at}.${index}`).text;
      if (typeof chat === 'string') return chat;
      throw invalidParam(`${at}.${index}.type`, 'Only text is supported here.');
    })
    .join('');
}

/** A function's output. Chat's tool messages have only text, so its files go into a user message. */
export function toToolOutput(
  output: string | readonly InputPart[],
  at: string,
): { text: string; files: ChatPart[] } {
  if (typeof output === 'string') return { text: output, files: [] };
  const parts = output.map((part, index) => toChatPart(part, `${at}.${index}`));
  const files = parts.filter(({ type }) => type !== 'text');
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => text as string);
  return { text: texts.length === 0 && files.length > 0 ? FILES_FOLLOW : texts.join(''), files };
}

function toChatPart(part: InputPart, at: string): ChatPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: stringOf(part.text, `${at}.text`) };
    case 'input_image':
      return toImage(part, at);
    case 'input_file':
      return { type: 'file', file: toFile(part, at) };
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio };
    default:
      throw invalidParam(`${at}.type`, 'Use input_text, input_image, input_file or input_audio.');
  }
}

function toImage({ image_url: url, detail }: InputPart, at: string): ChatPart {
  if (typeof url !== 'string')
    throw invalidParam(`${at}.image_url`, 'Give an http(s) URL or a data URL; files are not stored.');
  return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
}

/** A URL takes the place of the data: makers that read no URLs get its content. */
function toFile({ file_data, file_url, file_id, filename }: InputPart, at: string): object {
  const data = file_data ?? file_url;
  if (typeof data !== 'string' && typeof file_id !== 'string')
    throw invalidParam(`${at}.file_data`, 'Give a data URL, a file_url, or the maker’s file_id.');
  return {
    ...(typeof data === 'string' ? { file_data: data } : { file_id }),
    ...(typeof filename === 'string' ? { filename } : {}),
  };
}

function stringOf(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw invalidParam(at, 'Give a text.');
}
