// Converts the parts of an answer other than text to OpenAI's shapes, or to common shapes where OpenAI has none.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { toExtraContent } from './extra-content.ts';

type Content<Type> = Extract<LanguageModelV4Content, { type: Type }>;
type Metadata = Content<'tool-call'>['providerMetadata'];

interface ToolCallSaid {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  extra_content?: object;
}

/** A call of one of the caller's tools; null for a tool that the maker ran itself. */
export function toToolCall(call: Content<'tool-call'>): ToolCallSaid | null {
  if (call.providerExecuted) return null;
  const extra = toExtraContent(call.providerMetadata);
  return {
    id: call.toolCallId,
    type: 'function',
    function: { name: call.toolName, arguments: call.input },
    ...(extra && { extra_content: extra }),
  };
}

/** A reasoning block that its maker signed, to be sent back unchanged; null for an unsigned block. */
export function toReasoningDetail(text: string, metadata: Metadata) {
  const extra = toExtraContent(metadata);
  return extra && { type: 'reasoning.text', text, extra_content: extra };
}

/** A source of the model, as OpenAI's annotation of the whole text. */
export function toAnnotation(source: Content<'source'>) {
  if (source.sourceType !== 'url') return null;
  const { url, title } = source;
  return { type: 'url_citation', url_citation: { url, title: title ?? url, start_index: 0, end_index: 0 } };
}

/** An image in the answer. */
export function toImage({ data, mediaType }: Content<'file'>) {
  if (!mediaType.startsWith('image/')) return null;
  const url =
    data.type === 'url'
      ? data.url.toString()
      : `data:${mediaType};base64,${typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')}`;
  return { type: 'image_url', image_url: { url } };
}
