// Tests the translation of answers and streams against the shapes of Anthropic's reference.
import { messagesEvent, messagesRequest } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import type { ChatChunk, ChatMessage } from '../chat-shapes.ts';
import { type AnswerFrame, toMessage } from './answer.ts';
import { MessageStream } from './stream.ts';
import { sign } from './thoughts.ts';

const FRAME: AnswerFrame = { id: 'msg_1', showsThinking: true, stopSequences: ['END'] };
const COUNTED = { prompt_tokens: 19, completion_tokens: 10, cost: 0.00000885 };
const USAGE = {
  input_tokens: 19,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 10,
  cost: 0.00000885,
};
const SIGNED = { type: 'reasoning.text', text: 'Hm.', extra_content: { google: { signature: 'abc' } } };
const WEATHER = { id: 'call_1', function: { name: 'weather', arguments: '{"place":"Oslo"}' } };

function messageOf(
  message: ChatMessage,
  finish_reason = 'stop',
  { frame = FRAME, ...choice }: { frame?: AnswerFrame; stop_reason?: string } = {},
) {
  const answer = { model: 'acme/chat-1', choices: [{ message, finish_reason, ...choice }], usage: COUNTED };
  return toMessage(answer, frame);
}

describe('a whole answer', () => {
  test('is a message with its text, its end, its tokens and its cost', () =>
    expect(messageOf({ content: 'Hello!' })).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'acme/chat-1',
      content: [{ type: 'text', text: 'Hello!' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: USAGE,
    }));

  test('counts tokens of a cache beside the input', () => {
    const details = { cached_tokens: 1800, cache_write_tokens: 2400 };
    const usage = { ...COUNTED, prompt_tokens: 4212, prompt_tokens_details: details };
    expect(toMessage({ model: 'm', choices: [], usage }, FRAME).usage).toEqual({
      input_tokens: 12,
      cache_creation_input_tokens: 2400,
      cache_read_input_tokens: 1800,
      output_tokens: 10,
      cost: 0.00000885,
    });
  });

  test('has thinking, text and tool calls in this order', () =>
    expect(
      messageOf(
        { content: 'I look.', reasoning_content: 'Hm.', reasoning_details: [SIGNED], tool_calls: [WEATHER] },
        'tool_calls',
      ),
    ).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: sign('Hm.', [SIGNED]) },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { place: 'Oslo' } },
      ],
      stop_reason: 'tool_use',
    }));

  test('has a block for each signed thought, and a redacted one for a thought without text', () => {
    const second = { ...SIGNED, text: 'Aha.' };
    const content = [{ type: 'text', text: 'Hi' }];
    const both = { content: 'Hi', reasoning_content: 'Hm.Aha.', reasoning_details: [SIGNED, second] };
    expect(messageOf(both).content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: sign('Hm.', [SIGNED]) },
      { type: 'thinking', thinking: 'Aha.', signature: sign('Aha.', [second]) },
      ...content,
    ]);
    const secret = { type: 'reasoning.encrypted', data: 'xyz' };
    expect(messageOf({ content: 'Hi', reasoning_details: [secret] }).content).toEqual([
      { type: 'redacted_thinking', data: sign('', [secret]) },
      ...content,
    ]);
  });

  test('has no thinking for a caller that did not ask for it', () => {
    const frame = { ...FRAME, showsThinking: false };
    expect(messageOf({ content: 'Hi', reasoning: 'Hm.' }, 'stop', { frame }).content).toEqual([
      { type: 'text', text: 'Hi' },
    ]);
  });

  test.each([
    ['length', {}, 'max_tokens', null],
    ['content_filter', {}, 'refusal', null],
    ['stop', { stop_reason: 'END' }, 'stop_sequence', 'END'],
    ['stop', { stop_reason: '</s>' }, 'end_turn', null],
  ])('that ended by %s %j stops by %s', (finish, choice, stop_reason, stop_sequence) =>
    expect(messageOf({ content: 'Hi' }, finish, choice)).toMatchObject({ stop_reason, stop_sequence }),
  );

  test('of a maker that ends all answers with `stop` has the right stop reason', () => {
    expect(messageOf({ tool_calls: [WEATHER] }).stop_reason).toBe('tool_use');
    expect(messageOf({ refusal: 'I can’t.' })).toMatchObject({
      content: [{ type: 'text', text: 'I can’t.' }],
      stop_reason: 'refusal',
    });
  });

  test('keeps all digits of numbers above 2^53 in a tool call', () => {
    const called = { name: 'weather', arguments: '{"station":12345678901234567890}' };
    const answer = messageOf({ tool_calls: [{ id: 'call_1', function: called }] });
    expect(JSON.stringify(answer.content)).toContain('"input":{"station":12345678901234567890}');
  });

  test.each(['{"pla', '12345678901234567890'])(
    'keeps the text of arguments that are no JSON object: %s',
    (text) => {
      const cut = { id: 'call_1', function: { name: 'weather', arguments: text } };
      expect(messageOf({ tool_calls: [cut] }, 'length').content).toEqual([
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { unparsed_arguments: text } },
      ]);
    },
  );
});

interface StreamedEvent {
  type: string;
  index?: number;
  delta?: Record<string, unknown>;
  content_block?: object;
  [member: string]: unknown;
}

type Delta = NonNullable<NonNullable<ChatChunk['choices']>[number]['delta']>;

/** The events of a stream of these deltas; each is named by its type and satisfies the contract. */
function eventsOf(deltas: Delta[], finish_reason = 'stop', frame = FRAME): StreamedEvent[] {
  const stream = new MessageStream(frame);
  const model = 'acme/chat-1';
  const chunks: ChatChunk[] = [
    ...deltas.map((delta) => ({ model, choices: [{ delta, finish_reason: null }] })),
    { model, choices: [{ delta: {}, finish_reason }] },
    { model, choices: [], usage: COUNTED },
  ];
  const text = chunks.map((chunk) => stream.push(chunk)).join('') + stream.end();
  return text
    .trimEnd()
    .split('\n\n')
    .map((event) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      const parsed = JSON.parse(data ?? '') as StreamedEvent;
      expect(parsed.type).toBe(name);
      messagesEvent.parse(parsed);
      return parsed;
    });
}

/** The blocks as `start`, deltas and `stop`, without the frame around them. */
function blocksOf(events: StreamedEvent[]): unknown[] {
  return events
    .filter(({ type }) => type.startsWith('content_block'))
    .map(({ type, index, content_block: block, delta }) => [index, block ?? delta ?? type]);
}

describe('a stream', () => {
  test.each([undefined, ''])('of calls with the id %j has ids that the request may send back', (id) => {
    const calls = [0, 1].map((index) => ({ index, ...(id === '' && { id }), function: { name: 'f' } }));
    const events = eventsOf(
      [{ tool_calls: [calls[0] ?? {}] }, { tool_calls: [calls[1] ?? {}] }],
      'tool_calls',
    );
    const streamed = events.flatMap(({ content_block: block }) => block ?? []) as { id: string }[];
    const whole = messageOf({ tool_calls: calls }, 'tool_calls').content;
    for (const content of [streamed, whole]) {
      messagesRequest.parse({
        ...{ model: 'acme/chat-1', max_tokens: 1 },
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content },
        ],
      });
      expect(new Set(content.map((block) => (block as { id?: unknown }).id)).size).toBe(2);
    }
  });

  test('has its events in order, with all counts and the cost before the last', () =>
    expect(eventsOf([{ content: '' }, { content: 'Hel' }, { content: 'lo' }])).toEqual([
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'acme/chat-1',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: 0,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 0,
          },
        },
      },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE },
      { type: 'message_stop' },
    ]));

  test('has thinking with its signature, then text, then each tool call in a block of its own', () => {
    const deltas = [
      { reasoning_content: 'H' },
      { reasoning_content: 'm.' },
      { reasoning_details: [SIGNED] },
      { content: 'I look.' },
      { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'weather', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"place":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] },
      { tool_calls: [{ index: 1, id: 'call_2', function: { name: 'now', arguments: '{}' } }] },
    ];
    const events = eventsOf(deltas, 'tool_calls');
    const stop = 'content_block_stop';
    expect(blocksOf(events)).toEqual([
      [0, { type: 'thinking', thinking: '', signature: '' }],
      [0, { type: 'thinking_delta', thinking: 'H' }],
      [0, { type: 'thinking_delta', thinking: 'm.' }],
      [0, { type: 'signature_delta', signature: sign('Hm.', [SIGNED]) }],
      [0, stop],
      [1, { type: 'text', text: '' }],
      [1, { type: 'text_delta', text: 'I look.' }],
      [1, stop],
      [2, { type: 'tool_use', id: 'call_1', name: 'weather', input: {} }],
      [2, { type: 'input_json_delta', partial_json: '{"place":' }],
      [2, { type: 'input_json_delta', partial_json: '"Oslo"}' }],
      [2, stop],
      [3, { type: 'tool_use', id: 'call_2', name: 'now', input: {} }],
      [3, { type: 'input_json_delta', partial_json: '{}' }],
      [3, stop],
    ]);
    expect(events.at(-2)?.delta).toEqual({ stop_reason: 'tool_use', stop_sequence: null });
  });

  test('joins the pieces of a signed thought, and signs one that its maker did not', () => {
    const pieces = [
      { reasoning: 'H', reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'H' }] },
      { reasoning: 'm.', reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'm.' }] },
      { reasoning_details: [{ index: 0, type: 'reasoning.text', signature: 'abc' }] },
      { content: 'Hi' },
    ];
    const whole = { index: 0, type: 'reasoning.text', text: 'Hm.', signature: 'abc' };
    const signatureOf = (deltas: Delta[]) =>
      eventsOf(deltas).find(({ delta }) => delta?.type === 'signature_delta')?.delta?.signature;
    expect(signatureOf(pieces)).toBe(sign('Hm.', [whole]));
    expect(signatureOf([{ reasoning: 'Hm.' }, { content: 'Hi' }])).toBe(sign('Hm.', []));
  });

  test('has a redacted block for a thought without text', () => {
    const secret = { type: 'reasoning.encrypted', data: 'xyz' };
    expect(blocksOf(eventsOf([{ reasoning_details: [secret] }, { content: 'Hi' }])).slice(0, 3)).toEqual([
      [0, { type: 'redacted_thinking', data: sign('', [secret]) }],
      [0, 'content_block_stop'],
      [1, { type: 'text', text: '' }],
    ]);
  });

  test('has no thinking for a caller that did not ask for it', () => {
    const deltas = [{ reasoning_content: 'Hm.' }, { reasoning_details: [SIGNED] }, { content: 'Hi' }];
    const events = eventsOf(deltas, 'stop', { ...FRAME, showsThinking: false });
    expect(blocksOf(events)[0]).toEqual([0, { type: 'text', text: '' }]);
  });

  test('reports a refusal, given by its finish reason or its text', () => {
    const stopOf = (events: StreamedEvent[]) => events.at(-2)?.delta?.stop_reason;
    expect(stopOf(eventsOf([], 'content_filter'))).toBe('refusal');
    expect(stopOf(eventsOf([{ refusal: 'I can’t.' }]))).toBe('refusal');
  });

  describe('of parallel tool calls', () => {
    const piece = (index: number, text: string) => ({
      tool_calls: [{ index, id: `call_${index}`, function: { name: 'now', arguments: text } }],
    });
    const inputsOf = (events: StreamedEvent[]) =>
      events
        .filter(({ type }) => type === 'content_block_start')
        .map(({ index, content_block: block }) => {
          const deltas = events.filter((event) => event.index === index && event.delta);
          return [(block as { id?: string }).id, deltas.map(({ delta }) => delta?.partial_json).join('')];
        });

    test('whose pieces alternate has their blocks one after the other', () => {
      const deltas = [piece(0, '{'), piece(1, '{"b"'), piece(2, '{}'), piece(0, '}'), piece(1, ':1}')];
      expect(inputsOf(eventsOf(deltas, 'tool_calls'))).toEqual([
        ['call_0', '{}'],
        ['call_1', '{"b":1}'],
        ['call_2', '{}'],
      ]);
    });

    test('fails when a call goes on after a text has ended its block', () => {
      const deltas = [piece(0, '{'), piece(1, '{'), { content: 'Hm.' }, piece(1, '}')];
      expect(() => eventsOf(deltas, 'tool_calls')).toThrow(/after its block/);
    });
  });
});
