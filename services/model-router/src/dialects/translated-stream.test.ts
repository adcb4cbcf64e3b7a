import { type CatalogModel, ServiceError } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { SseAnswer } from '../answers/sse-answer.ts';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { translateCompletion } from './completions/translate.ts';
import type { Translate } from './dialect.ts';
import { TRANSLATIONS } from './registry.ts';
import { TranslatedStream } from './translated-stream.ts';

const model = {
  id: 'acme/chat-1',
  type: 'language',
  pricing: { input_token: '0.000001', output_token: '0.000002' },
} as CatalogModel;

function completionStream(): TranslatedStream {
  const body = { model: model.id, prompt: 'Hi', stream: true };
  const translation = translateCompletion(body, { requestId: 'req_1', receivedAt: 0 });
  const request = Buffer.from(JSON.stringify(translation.chat));
  return new TranslatedStream(new SseAnswer(model, { request, includeUsage: false }), translation.stream());
}

/** A stream in a dialect that reads the usage of chat's chunks. */
function streamIn(dialect: 'messages' | 'responses'): TranslatedStream {
  const thinking = { type: 'enabled', budget_tokens: 5 }; // so that Messages shows it
  const body = { model: model.id, max_tokens: 9, messages: [], input: 'Hi', stream: true, thinking };
  const translation = (TRANSLATIONS[dialect] as Translate)(body, { requestId: 'req_1', receivedAt: 0 });
  const request = Buffer.from(JSON.stringify(translation.chat));
  return new TranslatedStream(new SseAnswer(model, { request, includeUsage: false }), translation.stream());
}

const chunk = (choice: object, more: object = {}) =>
  Buffer.from(
    `data: ${JSON.stringify({ id: 'chatcmpl-1', created: 1, model: 'up', choices: [{ index: 0, ...choice }], ...more })}\n\n`,
  );
const DONE = Buffer.from('data: [DONE]\n\n');
const eventsOf = (bytes: Buffer | null) => bytes?.toString('utf8').trimEnd().split('\n\n') ?? [];

test('data before the first token is held back, so that a fallback stays possible', () => {
  const stream = completionStream();
  expect(stream.push(chunk({ delta: { role: 'assistant' } }))).toBeNull();
  expect(stream.forwarded).toBe(false);
  expect(eventsOf(stream.push(chunk({ delta: { content: 'Grüße' } })))).toHaveLength(2);
  expect(stream.forwarded).toBe(true);
});

test('a comment keeps the caller’s connection alive', () => {
  const stream = completionStream();
  stream.push(chunk({ delta: { content: 'a' } }));
  expect(stream.push(Buffer.from(': waiting\n\n'))?.toString()).toBe(': waiting\n\n');
});

test('a stream ends with the charged cost, in the form of the dialect', () => {
  const stream = completionStream();
  stream.push(chunk({ delta: { content: 'Grüße' } }));
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  stream.push(chunk({ delta: {}, finish_reason: 'stop' }, { usage }));
  stream.push(DONE);
  const { last, price } = stream.finish();
  expect(price.costNano).toBe(7_000n);
  const [event = '', done] = eventsOf(last);
  expect(JSON.parse(event.slice('data: '.length))).toMatchObject({
    object: 'text_completion',
    model: 'acme/chat-1',
    choices: [{ text: '', finish_reason: 'stop' }],
    usage: { ...usage, cost: 0.000007 },
  });
  expect(done).toBe('data: [DONE]');
});

const COUNT = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

test.each([
  ['Moonshot', chunk({ delta: {}, finish_reason: 'stop', usage: COUNT })],
  ['Groq', chunk({ delta: {}, finish_reason: 'stop' }, { x_groq: { id: 'req_1', usage: COUNT } })],
])('the usage that a maker nests in its last chunk is that of the dialect: %s', (_maker, last) => {
  const usageIn = (dialect: 'messages' | 'responses') => {
    const stream = streamIn(dialect);
    stream.push(chunk({ delta: { content: 'Hi' } }));
    stream.push(Buffer.concat([last, DONE]));
    const data = [
      ...stream
        .finish()
        .last.toString('utf8')
        .matchAll(/^data: (.*)$/gm),
    ];
    const events = data.map(
      ([, json]) => JSON.parse(json ?? '') as { type: string; [name: string]: unknown },
    );
    const end = events.find(({ type }) => ['message_delta', 'response.completed'].includes(type));
    return end?.usage ?? (end?.response as { usage?: unknown })?.usage;
  };
  // Anthropic's SDK reads the counts of `message_delta` without checking for them.
  for (const dialect of ['messages', 'responses'] as const)
    expect(usageIn(dialect)).toMatchObject({ input_tokens: 3, output_tokens: 2, cost: 0.000007 });
});

test.each([
  ['messages', ['content_block_start', 'content_block_delta', 'content_block_stop']],
  ['responses', ['response.function_call_arguments.done', 'response.output_item.done']],
] as const)(
  'parallel calls under one index, each with an id, as from Ollama, are calls of their own: %s',
  (dialect, types) => {
    const stream = streamIn(dialect);
    const pieces = [
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } },
      { index: 0, function: { arguments: '1}' } },
      { index: 0, id: 'b', function: { name: 'f', arguments: '{"x":' } },
      { index: 0, function: { arguments: '2}' } },
    ];
    const pushed = pieces.map((piece) => stream.push(chunk({ delta: { tool_calls: [piece] } })));
    stream.push(Buffer.concat([chunk({ delta: {}, finish_reason: 'tool_calls' }), DONE]));
    const text = [...pushed, stream.finish().last].join('');
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(
      ([, json]) => JSON.parse(json ?? '') as { type: string; [name: string]: unknown },
    );
    expect(events.filter(({ type }) => (types as readonly string[]).includes(type))).toMatchObject(
      dialect === 'messages'
        ? [
            { index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} } },
            { index: 0, delta: { type: 'input_json_delta', partial_json: '{"x":' } },
            { index: 0, delta: { type: 'input_json_delta', partial_json: '1}' } },
            { index: 0, type: 'content_block_stop' },
            { index: 1, content_block: { type: 'tool_use', id: 'b', name: 'f', input: {} } },
            { index: 1, delta: { type: 'input_json_delta', partial_json: '{"x":2}' } },
            { index: 1, type: 'content_block_stop' },
          ]
        : [
            { output_index: 0, arguments: '{"x":1}' },
            { item: { type: 'function_call', call_id: 'a', arguments: '{"x":1}' } },
            { output_index: 1, arguments: '{"x":2}' },
            { item: { type: 'function_call', call_id: 'b', arguments: '{"x":2}' } },
          ],
    );
  },
);

test.each(['messages', 'responses'] as const)(
  'a call under the index of another one keeps its characters, raw or escaped: %s',
  (dialect) => {
    const stream = streamIn(dialect);
    const [first, second] = ['a', 'b'].map((id) =>
      chunk({
        delta: { tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '{"x":"ü中Ģ"}' } }] },
      }),
    );
    const escaped = (second as Buffer).toString().replace('中Ģ', '\\u4e2d\\u0122');
    const end = Buffer.concat([chunk({ delta: {}, finish_reason: 'tool_calls' }), DONE]);
    const pushed = [first as Buffer, Buffer.from(escaped), end].map((bytes) => stream.push(bytes));
    const text = [...pushed, stream.finish().last].join('');
    const said = text.matchAll(/"(?:partial_json|arguments)":("(?:[^"\\]|\\.)*")/g);
    expect(new Set(Array.from(said, ([, json]) => JSON.parse(json ?? '')).filter(Boolean))).toEqual(
      new Set(['{"x":"ü中Ģ"}']),
    );
  },
);

/** The text and the thinking that a client reads in a stream. */
function readIn(events: { type?: string; [name: string]: unknown }[]): { text: string; thinking: string } {
  const read = { text: '', thinking: '' };
  for (const { type, delta, choices } of events) {
    if (type === 'response.output_text.delta') read.text += delta;
    if (type === 'response.reasoning_summary_text.delta') read.thinking += delta;
    const { text = '', thinking = '' } = (type === 'content_block_delta' ? delta : {}) as Partial<
      typeof read
    >;
    read.text += text + ((choices as { text: string }[] | undefined)?.[0]?.text ?? '');
    read.thinking += thinking;
  }
  return read;
}

test.each([
  ['messages', 'Hm. So.'],
  ['responses', 'Hm. So.'],
  ['completions', ''],
] as const)('a list of parts, as from Mistral, is text and thinking: %s', (dialect, thinking) => {
  const stream = dialect === 'completions' ? completionStream() : streamIn(dialect);
  const contents = [
    [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }],
    [{ type: 'thinking', thinking: ' So.' }],
    [
      { type: 'text', text: 'Hel' },
      { type: 'reference', reference_ids: [1] },
    ],
    'lo',
  ];
  const pushed = contents.map((content) => stream.push(chunk({ delta: { content } })));
  stream.push(Buffer.concat([chunk({ delta: {}, finish_reason: 'stop' }), DONE]));
  const text = [...pushed, stream.finish().last].join('');
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, json]) => JSON.parse(json ?? '') as { type?: string },
  );
  expect(readIn(events)).toEqual({ text: 'Hello', thinking });
});

test('a cut stream fails, and its last words have the dialect’s shape', () => {
  const stream = completionStream();
  stream.push(chunk({ delta: { content: 'a' } }));
  expect(() => stream.finish()).toThrow(UnusableAnswer);
  const words = stream.lastWords(new ServiceError('upstream_error', 'It broke.'), 'req_1').toString();
  expect(JSON.parse(words.slice('data: '.length))).toMatchObject({ error: { code: 'upstream_error' } });
});
