// Converts OpenAI's messages to the AI SDK's prompt. Unsupported content is refused with its position.
import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isUrlSupported } from '@ai-sdk/provider-utils';
import { parseExactly } from '../../../json/exact-integers.ts';
import type { CallersFiles } from '../callers-files.ts';
import { NOT_SUPPORTED, UnsupportedField } from '../translation.ts';
import type { ChatOptions } from './chat-options.ts';
import { fromExtraContent } from './extra-content.ts';
import type { ChatMessage, ContentPart, ToolCall } from './request.ts';

type Message<Role> = Extract<LanguageModelV4Message, { role: Role }>;
type UserPart = Message<'user'>['content'][number];
type AssistantPart = Message<'assistant'>['content'][number];
type ToolPart = Message<'tool'>['content'][number];
type Options = NonNullable<UserPart['providerOptions']>;
type FileData = Extract<UserPart, { type: 'file' }>['data'];

interface PromptContext {
  maker: string;
  model: LanguageModelV4;
  chatOptions: ChatOptions;
  files: CallersFiles;
}

/** @throws UnsupportedField naming the message or part that the maker does not support. */
export async function toPrompt(
  messages: readonly ChatMessage[],
  context: PromptContext,
): Promise<LanguageModelV4Prompt> {
  const toolNames = namesOfToolCalls(messages);
  const supportedUrls = await context.model.supportedUrls;
  const translator = new MessageTranslator(context, supportedUrls, toolNames);
  const prompt: LanguageModelV4Prompt = [];
  for (const [index, message] of messages.entries()) {
    const next = await translator.translate(message, `messages.${index}`);
    const last = prompt.at(-1);
    // The results of parallel calls belong in one turn.
    if (next.role === 'tool' && last?.role === 'tool') last.content.push(...next.content);
    else if (next.role === 'system' && context.chatOptions.systemFirst && last && last.role !== 'system')
      prompt.push({ role: 'user', content: [{ type: 'text', text: next.content }] });
    else prompt.push(next);
  }
  return prompt;
}

/** A tool result names only its call; makers also need the tool's name. */
function namesOfToolCalls(messages: readonly ChatMessage[]): Map<string, string> {
  const calls = messages.flatMap(({ tool_calls: calls }) => calls ?? []);
  return new Map(calls.map(({ id, function: called }) => [id, called?.name ?? '']));
}

class MessageTranslator {
  readonly #context: PromptContext;
  readonly #supportedUrls: Record<string, RegExp[]>;
  readonly #toolNames: ReadonlyMap<string, string>;

  constructor(
    context: PromptContext,
    supportedUrls: Record<string, RegExp[]>,
    toolNames: ReadonlyMap<string, string>,
  ) {
    this.#context = context;
    this.#supportedUrls = supportedUrls;
    this.#toolNames = toolNames;
  }

  async translate(message: ChatMessage, at: string): Promise<LanguageModelV4Message> {
    const named = this.#nameOf(message, at);
    switch (message.role) {
      case 'system':
      case 'developer':
        return { ...named, ...this.#system(message, at) };
      case 'user':
        return { ...named, role: 'user', content: await this.#parts(message, at) };
      case 'assistant':
        return { ...named, role: 'assistant', content: this.#assistant(message, at) };
      case 'tool':
        return { role: 'tool', content: [this.#toolResult(message, at)] };
      default:
        throw new UnsupportedField(`${at}.role`, 'Use system, developer, user, assistant or tool.');
    }
  }

  #nameOf({ name, role }: ChatMessage, at: string): { providerOptions?: Options } {
    if (!name || role === 'tool') return {};
    if (!this.#context.chatOptions.messageNames) throw new UnsupportedField(`${at}.name`, NOT_SUPPORTED);
    return { providerOptions: { [this.#context.maker]: { name } } };
  }

  #system(message: ChatMessage, at: string): Message<'system'> {
    const parts = partsOf(message);
    const texts = parts.map((part, index) => textOf(part, `${at}.content.${index}`));
    const cached = parts.findLast((part) => part.cache_control);
    const options = cached && this.#optionsOf(cached);
    return { role: 'system', content: texts.join('\n'), ...(options && { providerOptions: options }) };
  }

  /** Sequential, since fetched files share one limit. */
  async #parts(message: ChatMessage, at: string): Promise<UserPart[]> {
    const parts: UserPart[] = [];
    for (const [index, part] of partsOf(message).entries())
      parts.push(await this.#part(part, `${at}.content.${index}`));
    return parts;
  }

  async #part(part: ContentPart, at: string): Promise<UserPart> {
    const options = this.#optionsOf(part);
    const extra = options && { providerOptions: options };
    switch (part.type) {
      case 'text':
        return { type: 'text', text: textOf(part, at), ...extra };
      case 'image_url':
        return { ...(await this.#image(part, `${at}.image_url`)), ...extra };
      case 'input_audio':
        return { ...audioOf(part, `${at}.input_audio`), ...extra };
      case 'file':
        return { ...(await this.#file(part, `${at}.file`)), ...extra };
      default:
        throw new UnsupportedField(`${at}.type`, 'Use text, image_url, input_audio or file.');
    }
  }

  async #image({ image_url: image }: ContentPart, at: string): Promise<UserPart> {
    const url = typeof image === 'string' ? image : image?.url;
    if (typeof url !== 'string')
      throw new UnsupportedField(`${at}.url`, 'Give an http(s) URL or a data URL.');
    return { type: 'file', ...(await this.#fileOf(url, 'image/*', `${at}.url`)) };
  }

  async #file({ file }: ContentPart, at: string): Promise<UserPart> {
    const filename = file?.filename ? { filename: file.filename } : {};
    if (file?.file_id) {
      const reference = { [this.#context.maker]: file.file_id };
      return {
        type: 'file',
        data: { type: 'reference', reference },
        mediaType: 'application/pdf',
        ...filename,
      };
    }
    if (typeof file?.file_data !== 'string')
      throw new UnsupportedField(`${at}.file_data`, "Give a data URL, or the maker's file_id.");
    return {
      type: 'file',
      ...(await this.#fileOf(file.file_data, 'application/pdf', `${at}.file_data`)),
      ...filename,
    };
  }

  /** Decodes a data URL; passes other URLs on if the maker fetches them, otherwise downloads the bytes. */
  async #fileOf(url: string, kind: string, at: string): Promise<{ data: FileData; mediaType: string }> {
    const data = /^data:([^;,]*)(?:;[^,]*)?,/.exec(url);
    if (data && /;base64,$/i.test(data[0]))
      return { data: { type: 'data', data: url.slice(data[0].length) }, mediaType: data[1] || kind };
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UnsupportedField(at, 'Give an http(s) URL, or a data URL with base64.');
    const takes =
      (kind === 'image/*' && this.#context.chatOptions.imageUrls) ||
      isUrlSupported({ mediaType: kind, url, supportedUrls: this.#supportedUrls });
    if (!takes) {
      const { bytes, mediaType } = await this.#context.files.fetch(url, kind, at);
      return { data: { type: 'data', data: bytes }, mediaType };
    }
    return { data: { type: 'url', url: new URL(url) }, mediaType: kind };
  }

  #assistant(message: ChatMessage, at: string): AssistantPart[] {
    const parts: AssistantPart[] = this.#reasoning(message);
    for (const [index, part] of partsOf(message).entries()) {
      if (part.type === 'refusal') parts.push({ type: 'text', text: part.refusal ?? '' });
      else {
        const options = this.#optionsOf(part);
        const text = textOf(part, `${at}.content.${index}`);
        parts.push({ type: 'text', text, ...(options && { providerOptions: options }) });
      }
    }
    if (message.refusal) parts.push({ type: 'text', text: message.refusal });
    for (const [index, call] of (message.tool_calls ?? []).entries())
      parts.push(this.#toolCall(call, `${at}.tool_calls.${index}`));
    // An empty text beside calls is omitted, as in the AI SDK itself.
    const said = parts.filter((part) => part.type !== 'text' || part.text !== '');
    return said.length > 0 ? said : parts;
  }

  /** The signed thinking from `reasoning_details`, which the maker needs unchanged. */
  #reasoning({ reasoning_details: details }: ChatMessage): AssistantPart[] {
    return (details ?? []).flatMap(({ text, extra_content: extra }) => {
      const options = fromExtraContent(extra, this.#context.maker);
      return options ? [{ type: 'reasoning', text: text ?? '', providerOptions: options }] : [];
    });
  }

  #toolCall({ id, type, function: called, extra_content: extra }: ToolCall, at: string): AssistantPart {
    if (!called || (type !== undefined && type !== 'function'))
      throw new UnsupportedField(`${at}.type`, 'Only function calls are supported.');
    const options = fromExtraContent(extra, this.#context.maker);
    return {
      type: 'tool-call',
      toolCallId: id,
      toolName: called.name,
      input: argumentsOf(called.arguments, `${at}.function.arguments`),
      ...(options && { providerOptions: options }),
    };
  }

  #toolResult(message: ChatMessage, at: string): ToolPart {
    const id = message.tool_call_id ?? '';
    const toolName = this.#toolNames.get(id);
    if (toolName === undefined)
      throw new UnsupportedField(`${at}.tool_call_id`, `No tool call has the id ${JSON.stringify(id)}.`);
    const parts = partsOf(message);
    const texts = parts.map((part, index) => textOf(part, `${at}.content.${index}`));
    const cached = parts.findLast((part) => part.cache_control);
    const options = cached && this.#optionsOf(cached);
    return {
      ...(options && { providerOptions: options }),
      type: 'tool-result',
      toolCallId: id,
      toolName,
      output: { type: 'text', value: texts.join('') },
    };
  }

  #optionsOf({ cache_control: cache, image_url: image }: ContentPart): Options | undefined {
    const { maker, chatOptions } = this.#context;
    const detail = typeof image === 'object' && image?.detail && chatOptions.imageDetail;
    if (!detail && !(cache && chatOptions.cacheControl)) return undefined;
    return {
      [maker]: {
        ...(detail && { [detail]: image.detail }),
        ...(cache && chatOptions.cacheControl && { cacheControl: cache }),
      },
    } as Options;
  }
}

function partsOf({ content }: ChatMessage): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content ?? [];
}

function textOf(part: ContentPart, at: string): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text;
  throw new UnsupportedField(`${at}.type`, 'Only text is supported here.');
}

function audioOf({ input_audio: audio }: ContentPart, at: string): UserPart {
  if (typeof audio?.data !== 'string') throw new UnsupportedField(`${at}.data`, 'Give the audio in base64.');
  const mediaType = audio.format === 'mp3' ? 'audio/mpeg' : `audio/${audio.format ?? 'wav'}`;
  return { type: 'file', data: { type: 'data', data: audio.data }, mediaType };
}

function argumentsOf(text: string | undefined, at: string): unknown {
  try {
    return parseExactly(text || '{}');
  } catch {
    throw new UnsupportedField(at, 'Give valid JSON.');
  }
}
