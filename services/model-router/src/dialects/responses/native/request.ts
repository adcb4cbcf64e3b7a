// The caller's Responses request for OpenAI. Nothing is stored there, so the reasoning comes back encrypted, for the
// caller to send again.
import { isDeepStrictEqual } from 'node:util';
import type { CatalogModel, ResponsesInputItem, ResponsesRequest } from '@switchyard/contracts';
import { parseMember, topLevelMembers } from '../../../json/json-members.ts';
import { withMembers } from '../../../json/splice.ts';
import type { DialectBody } from '../../dialect.ts';
import type { InputPart } from '../content-parts.ts';
import { unsealReasoning } from '../sealed-reasoning.ts';

/** Fields of chat that OpenAI's Responses refuses; callers may send them, since other makers support them. */
const CHAT_ONLY: readonly string[] = [
  ...['frequency_penalty', 'logit_bias', 'logprobs', 'n', 'prediction', 'presence_penalty'],
  ...['provider_options', 'reasoning_effort', 'response_format', 'seed', 'stop', 'verbosity'],
];
/** Names in an input that may come from another maker's answer. */
const OTHERS_WORDS: readonly string[] = ['"reasoning"', '"extra_content"', '"url_citation"'];
const ENCRYPTED_REASONING = 'reasoning.encrypted_content';
/** Reasoning models have it among their `supported_parameters`; OpenAI's other models refuse to encrypt. */
const REASONING_PARAMETER = 'reasoning_effort';

export function isResponsesOnly(request: DialectBody): boolean {
  return CHAT_ONLY.every((name) => request[name] === undefined || request[name] === null);
}

export function toUpstreamRequest(given: Buffer, { supported_parameters: supported }: CatalogModel): Buffer {
  const members = topLevelMembers(given);
  const memberOf = <T>(name: string): T | null => {
    const member = members.get(name);
    return member ? (parseMember(given, member) as T | null) : null;
  };
  const values: [string, string][] = [['store', 'false']];
  if (supported.includes(REASONING_PARAMETER) || memberOf('reasoning') !== null) {
    const asked = memberOf<string[]>('include') ?? [];
    values.push(['include', JSON.stringify([...new Set([...asked, ENCRYPTED_REASONING])])]);
  }
  if (OTHERS_WORDS.some((word) => given.includes(word))) {
    const input = memberOf<ResponsesRequest['input']>('input') ?? '';
    const items = typeof input === 'string' ? input : toOpenAiItems(input);
    if (!isDeepStrictEqual(items, input)) values.push(['input', JSON.stringify(items)]);
  }
  return withMembers(given, members, values);
}

/** Drops parts of other makers' answers that OpenAI refuses: their reasoning, and members that OpenAI lacks. */
function toOpenAiItems(items: readonly ResponsesInputItem[]): object[] {
  return items
    .filter((item) => !isUnknownReasoning(item))
    .map(({ extra_content: _, ...item }) =>
      Array.isArray(item.content) ? { ...item, content: item.content.map(withOpenAiCitations) } : item,
    );
}

function withOpenAiCitations(part: InputPart): InputPart {
  const { annotations } = part;
  return Array.isArray(annotations) ? { ...part, annotations: annotations.map(toOpenAiCitation) } : part;
}

/** Makers add members to a citation, such as the text of its page. */
function toOpenAiCitation(annotation: unknown): unknown {
  const { type, url, title, start_index = 0, end_index = 0 } = (annotation ?? {}) as Record<string, unknown>;
  return type === 'url_citation' ? { type, url, title: title ?? url, start_index, end_index } : annotation;
}

/** Reasoning that OpenAI refuses: another maker's, which an earlier answer may have, or one that only a stored item has. */
function isUnknownReasoning({ type, encrypted_content: sealed }: ResponsesInputItem): boolean {
  return type === 'reasoning' && (!sealed || unsealReasoning(sealed).length > 0);
}
