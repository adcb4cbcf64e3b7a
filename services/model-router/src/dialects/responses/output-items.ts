// The items of an answer, each whole: reasoning, a message, and calls of functions.
import type { ChatReasoningDetail } from '@switchyard/contracts';
import type { ChatMessage, ChatToolCall } from '../chat-shapes.ts';
import { reasoningOf } from '../chat-shapes.ts';
import { sealReasoning } from './sealed-reasoning.ts';
import type { ToolNames } from './tools.ts';

export type OutputStatus = 'in_progress' | 'completed' | 'incomplete';

export interface OutputItem {
  readonly type: 'reasoning' | 'message' | 'function_call';
  readonly id: string;
  readonly [member: string]: unknown;
}

export type OutputPart =
  | { type: 'output_text'; text: string; annotations: object[]; logprobs: [] }
  | { type: 'refusal'; refusal: string };

export function summaryPart(text: string) {
  return { type: 'summary_text', text } as const;
}

export function reasoningItem(id: string, text: string, details: readonly ChatReasoningDetail[]): OutputItem {
  const summary = text === '' ? [] : [summaryPart(text)];
  return { id, type: 'reasoning', summary, encrypted_content: sealReasoning(details) };
}

export function messageItem(id: string, content: readonly OutputPart[], status: OutputStatus): OutputItem {
  return { id, type: 'message', status, role: 'assistant', content };
}

export function callItem(id: string, call: ChatToolCall, status: OutputStatus, names: ToolNames): OutputItem {
  const name = call.function?.name ?? '';
  return {
    id,
    type: 'function_call',
    status,
    call_id: call.id || id.replace(/^fc_/, 'call_'),
    ...(names.get(name) ?? { name }),
    arguments: call.function?.arguments ?? '',
    ...(call.extra_content ? { extra_content: call.extra_content } : {}),
  };
}

export function textPart(text: string, annotations: object[] = []): OutputPart {
  return { type: 'output_text', text, annotations, logprobs: [] };
}

/** Chat nests what Responses has flat. */
export function toAnnotation(annotation: unknown): object {
  const { type, url_citation: citation, ...rest } = annotation as { type?: string; url_citation?: object };
  return { type, ...citation, ...rest };
}

interface OutputOptions {
  /** Makes the ids unique. */
  suffix: string;
  status: OutputStatus;
  names: ToolNames;
}

export function toOutput(message: ChatMessage, { suffix, status, names }: OutputOptions): OutputItem[] {
  const { content, refusal, reasoning_details: details, tool_calls: calls, annotations } = message;
  const output: OutputItem[] = [];
  const id = (prefix: string) => `${prefix}_${suffix}_${output.length}`;
  const thought = reasoningOf(message);
  if (thought !== '' || details?.length) output.push(reasoningItem(id('rs'), thought, details ?? []));
  const parts: OutputPart[] = [
    ...(content ? [textPart(content, (annotations ?? []).map(toAnnotation))] : []),
    ...(refusal ? [{ type: 'refusal' as const, refusal }] : []),
  ];
  if (parts.length > 0) output.push(messageItem(id('msg'), parts, status));
  for (const call of calls ?? []) output.push(callItem(id('fc'), call, status, names));
  return output;
}
