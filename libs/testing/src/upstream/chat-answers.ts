// Which recorded answer fits a chat request, whole or as the chunks of a stream.
import type { Behaviour } from './behaviours.ts';
import { FIXTURES, type RecordedCompletion } from './fixtures.ts';

/** What the upstream reads of a request; everything else it only keeps. */
export interface ChatBody {
  messages?: { role?: string; content?: unknown }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean } | null;
  tools?: { function?: { name?: string } }[];
  tool_choice?: unknown;
  response_format?: { type?: string };
  n?: number;
}

const BIG_CHUNK_CHARACTERS = 64 * 1024;

/** A chat.completion as OpenAI sends it. */
export function completionFor(body: ChatBody, behaviour: Behaviour): Record<string, unknown> {
  const recorded = recordedFor(body);
  const { usage, choices, ...rest } = recorded;
  const [choice] = choices;
  return {
    ...rest,
    choices: Array.from({ length: body.n ?? 1 }, (_, index) => ({ ...choice, index })),
    ...(behaviour.noUsage ? {} : { usage: behaviour.cachedUsage ? FIXTURES.cachedUsage : usage }),
  };
}

/** The chunks of the same answer; the usage chunk only if requested, as at OpenAI. */
export function* chunksFor(body: ChatBody, behaviour: Behaviour): Generator<Record<string, unknown>> {
  const recorded = recordedFor(body);
  const { id, created, model } = recorded;
  const frame = { ...FIXTURES.chunk, id, created, model };
  const includeUsage = body.stream_options?.include_usage === true && !behaviour.noUsage;
  const indexes = Array.from({ length: body.n ?? 1 }, (_, index) => index);
  const message = recorded.choices[0]?.message;
  const chunk = (index: number, delta: unknown, finishReason: string | null) => ({
    ...frame,
    choices: [{ index, delta, logprobs: null, finish_reason: finishReason }],
    ...(includeUsage ? { usage: null } : {}),
  });
  for (const index of indexes)
    yield chunk(index, { role: 'assistant', content: message?.content === null ? null : '' }, null);
  for (const delta of deltasOf(recorded, behaviour))
    for (const index of indexes) yield chunk(index, delta, null);
  for (const index of indexes) yield chunk(index, {}, recorded.choices[0]?.finish_reason ?? 'stop');
  if (includeUsage)
    yield { ...frame, choices: [], usage: behaviour.cachedUsage ? FIXTURES.cachedUsage : recorded.usage };
}

function recordedFor(body: ChatBody): RecordedCompletion {
  const last = body.messages?.at(-1);
  if (body.tools && body.tools.length > 0 && body.tool_choice !== 'none' && last?.role !== 'tool')
    return FIXTURES.tools;
  if (body.response_format && body.response_format.type !== 'text') return FIXTURES.structured;
  return hasImage(last?.content) ? FIXTURES.image : FIXTURES.text;
}

function hasImage(content: unknown): boolean {
  return Array.isArray(content) && content.some((part: { type?: string }) => part.type === 'image_url');
}

function* deltasOf(recorded: RecordedCompletion, behaviour: Behaviour): Generator<Record<string, unknown>> {
  if (behaviour.megabytes !== null) {
    const content = 'A gateway passes on what it is given. '
      .repeat(BIG_CHUNK_CHARACTERS / 32)
      .slice(0, BIG_CHUNK_CHARACTERS);
    const count = (behaviour.megabytes * 1024 * 1024) / BIG_CHUNK_CHARACTERS;
    for (let sent = 0; sent < count; sent += 1) yield { content };
    return;
  }
  const message = recorded.choices[0]?.message;
  for (const word of message?.content?.match(/\s*\S+/g) ?? []) yield { content: word };
  for (const [index, call] of (message?.tool_calls ?? []).entries()) {
    yield { tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] };
    for (const piece of call.function.arguments.match(/[\s\S]{1,8}/g) ?? [])
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
  }
}
