// How an upstream words the same answer: in chunks of chat, in OpenAI's Responses, or in Anthropic's Messages, for tests
// that put the same faults into all.
import type { Dialect } from '@switchyard/contracts';
import { FIXTURES } from '@switchyard/testing';

/** One event: its text, or its data. */
type Event = string | object;

interface Said {
  content?: string | null;
  refusal?: string;
}

export interface Wording {
  adapter: 'openai-compatible' | 'openai' | 'anthropic';
  /** Whether the upstream gets a call in the dialect in this wording. */
  serves(dialect: Dialect): boolean;
  /** What comes before the first token. */
  begin: readonly Event[];
  token: Event;
  refusal(text: string): Event;
  /** The end of a good stream, with its usage; `nothing`: of one without content. */
  end(finish: string, nothing?: 'nothing'): readonly Event[];
  whole(said: Said, finish: string): string;
  /** A whole stream, and an answer, without a place for content. */
  empty: { stream: readonly Event[]; whole: string };
  /** An error, whole or in a stream. */
  failed(error: object): object;
}

export const DONE = 'data: [DONE]';

// OpenAI's answer, whole and in chunks.
const completion = FIXTURES.text;
const { id, created, model, usage } = completion;
const chunkOf = (members: object) => ({ ...FIXTURES.chunk, id, created, model, ...members });
const chunk = (delta: object, finish: string | null = null) =>
  chunkOf({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null });

const inChat: Wording = {
  adapter: 'openai-compatible',
  serves: () => true,
  begin: [chunk({ role: 'assistant', content: '', refusal: null })],
  token: chunk({ content: 'Hello' }),
  refusal: (text) => chunk({ refusal: text }),
  end: (finish) => [chunk({}, finish), chunkOf({ choices: [], usage }), DONE],
  whole: ({ content = null, refusal }, finish) => {
    const message = { role: 'assistant', content, ...(refusal === undefined ? {} : { refusal }) };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
    return JSON.stringify({ ...completion, choices });
  },
  empty: { stream: [DONE], whole: JSON.stringify({ ...completion, choices: [] }) },
  failed: (error) => ({ error }),
};

const STOP = 'stop';
const USAGE = {
  input_tokens: usage.prompt_tokens,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: usage.completion_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: usage.total_tokens,
};
const response = (output: object[], finish: string | null) => ({
  ...{ id: 'resp_theirs', object: 'response', created_at: created, model, output, store: false, error: null },
  status: finish === null ? 'in_progress' : finish === STOP ? 'completed' : 'incomplete',
  incomplete_details: finish === null || finish === STOP ? null : { reason: finish },
  usage: finish === null ? null : USAGE,
});
const message = (parts: object[]) => ({
  ...{ id: 'msg_theirs', type: 'message', role: 'assistant', status: 'completed', content: parts },
});
const partsOf = ({ content, refusal }: Said) => [
  ...(typeof content === 'string' ? [{ type: 'output_text', text: content, annotations: [] }] : []),
  ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
];
const AT = { item_id: 'msg_theirs', output_index: 0, content_index: 0 };

const inResponses: Wording = {
  adapter: 'openai',
  serves: (dialect) => dialect === 'responses',
  begin: [
    { type: 'response.created', sequence_number: 0, response: response([], null) },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: message([]) },
  ],
  token: { type: 'response.output_text.delta', sequence_number: 2, ...AT, delta: 'Hello' },
  refusal: (text) => ({ type: 'response.refusal.delta', sequence_number: 2, ...AT, delta: text }),
  end: (finish) => [
    {
      type: finish === STOP ? 'response.completed' : 'response.incomplete',
      sequence_number: 3,
      response: response([message([])], finish),
    },
  ],
  whole: (said, finish) => JSON.stringify(response([message(partsOf(said))], finish)),
  empty: { stream: [DONE], whole: JSON.stringify({ ...response([], STOP), output: undefined }) },
  failed: (error) => ({ error }),
};

const THEIRS = {
  ...{ id: 'msg_theirs', type: 'message', role: 'assistant', model, stop_sequence: null },
};
const STOP_REASONS: Readonly<Record<string, string>> = { stop: 'end_turn', content_filter: 'refusal' };
/** Anthropic counts no tokens of an answer without content. */
const tokens = (output: number) => ({
  ...{ input_tokens: usage.prompt_tokens, output_tokens: output },
  ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
});
const named = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}`;
const delta = (text: string) =>
  named({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } });
const started = named({
  type: 'message_start',
  ...{ message: { ...THEIRS, content: [], stop_reason: null, usage: tokens(1) } },
});

const inMessages: Wording = {
  adapter: 'anthropic',
  serves: (dialect) => dialect === 'messages',
  begin: [
    started,
    named({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
    named({ type: 'ping' }),
  ],
  token: delta('Hello'),
  refusal: delta,
  end: (finish, nothing) => [
    named({
      type: 'message_delta',
      ...{ delta: { stop_reason: STOP_REASONS[finish], stop_sequence: null } },
      ...{ usage: { output_tokens: nothing ? 0 : usage.completion_tokens } },
    }),
    named({ type: 'message_stop' }),
  ],
  whole({ content, refusal }, finish) {
    const text = content || refusal;
    return JSON.stringify({
      ...THEIRS,
      content: text ? [{ type: 'text', text }] : [],
      stop_reason: STOP_REASONS[finish],
      usage: tokens(text ? usage.completion_tokens : 0),
    });
  },
  empty: {
    stream: [started, named({ type: 'message_stop' })],
    whole: JSON.stringify({ ...THEIRS, stop_reason: 'end_turn', usage: tokens(0) }),
  },
  failed: (error) => ({ type: 'error', error }),
};

/** By the dialect that the upstream speaks. */
export const WORDINGS = { chat: inChat, responses: inResponses, messages: inMessages } as const;
