// For contract tests of chat: one conversation with all that a chat may hold, makers' event streams as fixtures, and an
// answer as a client of OpenAI's reads it.
import type { Failure } from '../failure.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { type Fixture, fixture, type Outcome, type ReplayedMaker, replayedMaker } from './replayed-maker.ts';

/** One black pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==';

export const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather at a place',
      parameters: {
        type: 'object',
        properties: { place: { type: 'string' } },
        required: ['place'],
        additionalProperties: false,
      },
    },
  },
];

/** A system's word, text and a picture of a user, two calls in parallel, their results, and a last question. */
export const CONVERSATION = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this, and how is the weather?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
    ],
  },
  {
    role: 'assistant',
    content: 'A pixel.',
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"place":"Oslo"}' } },
      { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"place":"Rome"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'snow' },
  { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'sun' }] },
  { role: 'user', content: 'Thanks. And tomorrow?' },
];

export const SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'integer' } },
  required: ['answer'],
  additionalProperties: false,
};

export const HELLO = { messages: [{ role: 'user', content: 'Hello' }] };

/** A fixture whose `events` are the events of a stream: objects as JSON, texts as they are. */
interface StreamFixture extends Fixture {
  events?: (string | { type?: string })[];
  /** Events carry their type as their name, as Anthropic's do. */
  named?: boolean;
}

/** @param share of the events of a stream, from its beginning */
export function chatFixture(folder: string, name: string, share = 1): Fixture {
  const { events, named, ...given } = fixture(folder, name) as StreamFixture;
  if (!events) return given;
  const text = events
    .slice(0, Math.floor(share * events.length))
    .map((event) => {
      const data = typeof event === 'string' ? event : JSON.stringify(event);
      const line = named && typeof event === 'object' ? `event: ${event.type}\n` : '';
      return `${line}data: ${data}\n\n`;
    })
    .join('');
  return {
    ...given,
    headers: { 'content-type': 'text/event-stream', ...given.headers },
    base64: Buffer.from(text).toString('base64'),
  };
}

/** Runs a test against a maker that gives these answers in turn. */
export async function withMaker(
  declaration: MakerDeclaration,
  answers: readonly Fixture[],
  run: (maker: ReplayedMaker) => Promise<void>,
): Promise<void> {
  const maker = await replayedMaker(declaration, answers);
  try {
    await run(maker);
  } finally {
    await maker.close();
  }
}

interface Delta {
  role?: string;
  content?: string;
  refusal?: string;
  reasoning_content?: string;
  reasoning_details?: unknown[];
  tool_calls?: {
    index: number;
    id?: string;
    function?: { name?: string; arguments?: string };
    extra_content?: unknown;
  }[];
}

interface Chunk {
  object: string;
  choices: { delta: Delta; finish_reason: string | null }[];
  usage?: unknown;
}

export interface ReadStream {
  chunks: Chunk[];
  content: string;
  refusal: string;
  reasoning: string;
  reasoningDetails: unknown[];
  toolCalls: { id: string; name: string; arguments: string; extra_content?: unknown }[];
  finishReasons: string[];
  usages: unknown[];
  done: boolean;
}

/** What a client makes of a stream of chunks. */
export function readChunks({ contentType, body }: Outcome): ReadStream {
  if (!contentType.startsWith('text/event-stream'))
    throw new Error(`no stream: ${contentType} ${body.toString()}`);
  const data = [...body.toString('utf8').matchAll(/^data: (.*)$/gm)].map(([, text]) => text as string);
  const chunks = data.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text) as Chunk);
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  const toolCalls: ReadStream['toolCalls'] = [];
  for (const { index, id, function: called, extra_content: extra } of deltas.flatMap(
    (one) => one.tool_calls ?? [],
  )) {
    toolCalls[index] ??= { id: id ?? '', name: called?.name ?? '', arguments: '' };
    toolCalls[index].arguments += called?.arguments ?? '';
    if (extra) toolCalls[index].extra_content = extra;
  }
  return {
    chunks,
    content: deltas.map(({ content }) => content ?? '').join(''),
    refusal: deltas.map(({ refusal }) => refusal ?? '').join(''),
    reasoning: deltas.map(({ reasoning_content: text }) => text ?? '').join(''),
    reasoningDetails: deltas.flatMap(({ reasoning_details: details }) => details ?? []),
    toolCalls,
    finishReasons: chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason: why }) => why ?? [])),
    usages: chunks.flatMap(({ usage }) => (usage ? [usage] : [])),
    done: data.at(-1) === '[DONE]',
  };
}

/** What the router makes of an error. */
export function failureOf({ failure, body }: Outcome): Failure {
  if (failure === null) throw new Error(`it was answered: ${body.toString()}`);
  return failure;
}

/** As much of a failure as a test says; `said` is looked for in its message. */
export type ExpectedFailure = Pick<Failure, 'status' | 'kind'> & { retryAfterS?: number; said?: RegExp };

/** Gives this error to a whole call and to a streamed one, and returns what the router makes of each. */
export async function failuresOf(
  declaration: MakerDeclaration,
  error: Fixture,
  model: string,
): Promise<(Failure & { requests: number })[]> {
  const failures: (Failure & { requests: number })[] = [];
  for (const stream of [false, true])
    await withMaker(declaration, [error], async ({ call, requests }) => {
      const failure = failureOf(await call('language', { ...HELLO, stream }, { model }));
      failures.push({ ...failure, requests: requests.length });
    });
  return failures;
}

/** The message of a whole answer. */
export function messageOf(outcome: Outcome): Record<string, unknown> {
  const { choices } = outcome.json() as { choices: { message: Record<string, unknown> }[] };
  const [choice] = choices;
  if (!choice) throw new Error(`no answer: ${outcome.body.toString()}`);
  return choice.message;
}

export function finishReasonOf(outcome: Outcome): unknown {
  const { choices } = outcome.json() as { choices: { finish_reason: unknown }[] };
  return choices[0]?.finish_reason;
}

/** OpenAI's usage object of a call. */
export function usageOf(input: number, output: number, { cached = 0, written = 0, reasoning = 0 } = {}) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
