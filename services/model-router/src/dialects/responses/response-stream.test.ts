import { responsesEvent, ServiceError } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import type { ChatChunk, ChatMessage, ChatToolCallPiece } from '../chat-shapes.ts';
import { unsealReasoning } from './sealed-reasoning.ts';
import { translateResponse } from './translate.ts';

interface StreamedEvent {
  type: string;
  sequence_number: number;
  [member: string]: unknown;
}

const newStream = () =>
  translateResponse({ model: 'a/b', input: 'Hi' }, { requestId: 'req_7', receivedAt: 0 }).stream();

const delta = (said: ChatMessage<ChatToolCallPiece>, finish_reason: string | null = null): ChatChunk => ({
  model: 'a/b',
  choices: [{ index: 0, delta: said, finish_reason }],
});
const USAGE: ChatChunk = {
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.25 },
};

/** Each event is named by its type and satisfies the contract. */
function parse(text: string): StreamedEvent[] {
  return text
    .trimEnd()
    .split('\n\n')
    .map((event) => {
      const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
      const parsed = JSON.parse(data) as StreamedEvent;
      expect(name).toBe(parsed.type);
      responsesEvent.parse(parsed);
      return parsed;
    });
}

function eventsOf(chunks: readonly ChatChunk[]): StreamedEvent[] {
  const stream = newStream();
  return parse(chunks.map((chunk) => stream.push(chunk)).join('') + stream.end());
}

const shortOf = ({ type, output_index: index }: StreamedEvent) =>
  `${type.replace(/^response\./, '')}${index === undefined ? '' : ` ${index}`}`;

test('reasoning, text and interleaved calls are items of their own, each begun and ended once', () => {
  const SIGNED = { text: 'Hm.', extra_content: { anthropic: { signature: 's' } } };
  const events = eventsOf([
    delta({ reasoning_content: 'Hm' }),
    delta({ reasoning_content: '.' }),
    delta({ reasoning_details: [SIGNED] }),
    delta({ content: 'I ' }),
    delta({ content: 'look.' }),
    delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '' } }] }),
    delta({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'g', arguments: '{' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
    delta({ tool_calls: [{ index: 1, function: { arguments: '}' } }] }),
    delta({}, 'tool_calls'),
    USAGE,
  ]);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
  expect(events.map(shortOf)).toEqual([
    'created',
    'in_progress',
    'output_item.added 0',
    'reasoning_summary_part.added 0',
    'reasoning_summary_text.delta 0',
    'reasoning_summary_text.delta 0',
    'reasoning_summary_text.done 0',
    'reasoning_summary_part.done 0',
    'output_item.done 0',
    'output_item.added 1',
    'content_part.added 1',
    'output_text.delta 1',
    'output_text.delta 1',
    'output_text.done 1',
    'content_part.done 1',
    'output_item.done 1',
    'output_item.added 2',
    'output_item.added 3',
    'function_call_arguments.delta 3',
    'function_call_arguments.delta 2',
    'function_call_arguments.delta 3',
    'function_call_arguments.done 2',
    'output_item.done 2',
    'function_call_arguments.done 3',
    'output_item.done 3',
    'completed',
  ]);
  const { response } = events.at(-1) as unknown as { response: { output: { encrypted_content?: string }[] } };
  expect(response).toMatchObject({
    status: 'completed',
    usage: { total_tokens: 5, cost: 0.25 },
    output: [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'g', arguments: '{}' },
    ],
  });
  const sealed = Buffer.from(response.output[0]?.encrypted_content ?? '', 'base64').toString('utf8');
  expect(JSON.parse(sealed)).toEqual([SIGNED]);
});

test.each([undefined, ''])('calls with the id %j get ids that differ, streamed and whole', (id) => {
  const calls = [0, 1].map((index) => ({ index, ...(id === '' && { id }), function: { name: 'f' } }));
  const events = eventsOf([
    ...calls.map((call) => delta({ tool_calls: [call] })),
    delta({}, 'tool_calls'),
    USAGE,
  ]);
  const { response } = events.at(-1) as unknown as { response: { output: { call_id: string }[] } };
  const { usage } = USAGE as Required<ChatChunk>;
  const { output: whole } = translateResponse(
    { model: 'a/b', input: 'Hi' },
    { requestId: 'req_7', receivedAt: 0 },
  ).answer({
    ...{ model: 'a/b', choices: [{ message: { tool_calls: calls } }] },
    usage: usage as NonNullable<typeof usage>,
  }) as typeof response;
  for (const output of [response.output, whole])
    expect(output.map(({ call_id: callId }) => callId)).toEqual(['call_7_0', 'call_7_1']);
});

test('the pieces of a signed thought are one sealed detail', () => {
  const details = (detail: object) => delta({ reasoning_details: [{ index: 0, ...detail }] });
  const events = eventsOf([
    details({ type: 'reasoning.text', text: 'H' }),
    details({ type: 'reasoning.text', text: 'm.' }),
    details({ type: 'reasoning.text', signature: 'abc' }),
    delta({ content: 'Hi' }, 'stop'),
    USAGE,
  ]);
  const { response } = events.at(-1) as unknown as { response: { output: { encrypted_content?: string }[] } };
  const whole = { index: 0, type: 'reasoning.text', text: 'Hm.', signature: 'abc' };
  expect(unsealReasoning(response.output[0]?.encrypted_content ?? '')).toEqual([whole]);
});

test('a stream has the items of the whole answer', () => {
  const message = { content: 'Hi.', refusal: 'But no.', reasoning: 'Hm.' };
  const translation = translateResponse({ model: 'a/b', input: 'Hi' }, { requestId: 'req_7', receivedAt: 0 });
  const { usage } = USAGE as Required<ChatChunk>;
  const whole = translation.answer({
    model: 'a/b',
    choices: [{ message, finish_reason: 'stop' }],
    usage: usage as NonNullable<typeof usage>,
  });
  const streamed = eventsOf([
    delta({ reasoning: 'Hm.' }),
    delta({ content: 'Hi.' }),
    delta({ refusal: 'But no.' }, 'stop'),
    USAGE,
  ]);
  expect(streamed.at(-1)?.response).toEqual(whole);
});

test('a stream that reached its limit ends with response.incomplete', () => {
  const last = eventsOf([delta({ content: 'Hi' }), delta({}, 'length'), USAGE]).at(-1);
  expect(last).toMatchObject({
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  });
});

test('a refusal without content ends with response.incomplete and no item', () => {
  const last = eventsOf([delta({}, 'content_filter'), USAGE]).at(-1);
  expect(last).toMatchObject({ type: 'response.incomplete', response: { output: [] } });
});

test('a stream that breaks ends with an error event and response.failed, without usage', () => {
  const stream = newStream();
  const before = parse(stream.push(delta({ content: 'Hi' })));
  const events = parse(stream.fail(new ServiceError('upstream_error', 'It broke.'), 'req_7'));
  expect(events).toMatchObject([
    {
      type: 'error',
      sequence_number: before.length,
      error: { code: 'upstream_error', message: 'It broke.' },
    },
    {
      type: 'response.failed',
      sequence_number: before.length + 1,
      response: { status: 'failed', error: { code: 'server_error', message: 'It broke.' }, usage: null },
    },
  ]);
});
