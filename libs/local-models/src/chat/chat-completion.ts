// A reply in OpenAI's shapes: one chat.completion, or its chunks word by word with the usage in the last one.
import { randomBytes } from 'node:crypto';
import { countTokens, firstTokens } from '../text/tokens.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Reply } from './compose-reply.ts';

const CHAT_MODEL_ID = 'local/chat';

type FinishReason = 'stop' | 'length' | 'tool_calls';

interface FinishedCall {
  id: string;
  name: string;
  arguments: string;
}

/** A reply as it goes out: cut at a stop sequence or at the caller's limit of tokens. */
interface FinishedReply {
  text: string | null;
  calls: FinishedCall[];
  finishReason: FinishReason;
  tokens: number;
}

/** Applies `stop` and `max_tokens`. A tool call is never cut: part of one is useless. */
export function finishReply(reply: Reply, request: Pick<ChatRequest, 'stop' | 'maxTokens'>): FinishedReply {
  if (reply.type === 'tool_calls') {
    const calls = reply.calls.map((call) => ({ ...call, id: newToolCallId() }));
    const tokens = calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.arguments), 0);
    return { text: null, calls, finishReason: 'tool_calls', tokens };
  }
  const stopped = beforeStop(reply.text, request.stop);
  const text = firstTokens(stopped, request.maxTokens);
  const finishReason = text === stopped ? 'stop' : 'length';
  return { text, calls: [], finishReason, tokens: countTokens(text) };
}

/** The answer in one piece. All `n` choices are the same: the rules are deterministic. */
export function chatCompletion(reply: FinishedReply, request: ChatRequest, created: number): unknown {
  const message = {
    role: 'assistant',
    content: reply.text,
    refusal: null,
    ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls.map(toToolCall) }),
  };
  return {
    id: newCompletionId(),
    object: 'chat.completion',
    created,
    model: CHAT_MODEL_ID,
    choices: choiceIndexes(request).map((index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: reply.finishReason,
    })),
    usage: usageOf(reply, request),
  };
}

/** The answer as chunks; the last one has no choices and the usage, whether the caller asked for it or not. */
export function* chatCompletionChunks(
  reply: FinishedReply,
  request: ChatRequest,
  created: number,
): Generator<unknown> {
  const head = { id: newCompletionId(), object: 'chat.completion.chunk', created, model: CHAT_MODEL_ID };
  const chunk = (index: number, delta: unknown, finishReason: FinishReason | null = null) => ({
    ...head,
    choices: [{ index, delta, logprobs: null, finish_reason: finishReason }],
    usage: null,
  });
  const indexes = choiceIndexes(request);
  const content = reply.text === null ? null : '';
  for (const index of indexes) yield chunk(index, { role: 'assistant', content, refusal: null });
  for (const delta of deltasOf(reply)) for (const index of indexes) yield chunk(index, delta);
  for (const index of indexes) yield chunk(index, {}, reply.finishReason);
  yield { ...head, choices: [], usage: usageOf(reply, request) };
}

function* deltasOf(reply: FinishedReply): Generator<unknown> {
  for (const word of wordByWord(reply.text ?? '')) yield { content: word };
  for (const [index, call] of reply.calls.entries()) {
    yield { tool_calls: [{ index, ...toToolCall({ ...call, arguments: '' }) }] };
    for (const piece of wordByWord(call.arguments))
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
  }
}

/** Each word with the white space before it; joined they are the text. */
function wordByWord(text: string): string[] {
  return text.match(/\s*\S+(?:\s+$)?|\s+$/g) ?? [];
}

function beforeStop(text: string, stop: readonly string[]): string {
  const cuts = stop.map((sequence) => text.indexOf(sequence)).filter((at) => at >= 0);
  return cuts.length === 0 ? text : text.slice(0, Math.min(...cuts));
}

function choiceIndexes({ choices }: ChatRequest): number[] {
  return Array.from({ length: choices }, (_, index) => index);
}

function usageOf(reply: FinishedReply, { promptTokens, choices }: ChatRequest): unknown {
  const completionTokens = reply.tokens * choices;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function toToolCall({ id, name, arguments: text }: FinishedCall): object {
  return { id, type: 'function', function: { name, arguments: text } };
}

function newCompletionId(): string {
  return `chatcmpl-${randomBytes(18).toString('base64url')}`;
}

function newToolCallId(): string {
  return `call_${randomBytes(18).toString('base64url')}`;
}
