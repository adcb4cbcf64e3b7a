import type { ResponsesRequest } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import type { ChatCompletion } from '../chat-shapes.ts';
import { translateResponse } from './translate.ts';

const call = { requestId: 'req_7', receivedAt: 1_700_000_000_999 };
const translate = (body: Partial<ResponsesRequest>) => translateResponse({ model: 'a/b', ...body }, call);
const chatOf = (body: Partial<ResponsesRequest>) => translate(body).chat;

const SIGNED = [{ type: 'reasoning.text', text: 'Hm.', extra_content: { anthropic: { signature: 's' } } }];
const usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
  cost: 0.5,
};
const answered = (message: object, finish_reason = 'stop'): ChatCompletion => ({
  model: 'a/b',
  choices: [{ index: 0, message, finish_reason }],
  usage,
});
const answer = (message: object, finish?: string, body: Partial<ResponsesRequest> = { input: 'Hi' }) =>
  translate(body).answer(answered(message, finish)) as { output: ResponsesRequest['input'] };

describe('a request', () => {
  test('keeps what chat also knows, and leaves out what only Responses knows', () => {
    expect(
      chatOf({
        ...{ input: 'Hi', stream: true, temperature: 0, top_p: null, user: 'u', seed: 1, store: true },
        ...{
          metadata: { a: 'b' },
          include: [],
          truncation: 'disabled',
          background: false,
          max_tool_calls: 1,
        },
        ...{ stream_options: {}, text: { verbosity: 'low' }, reasoning: { effort: 'high', summary: 'auto' } },
        ...{ max_output_tokens: 9, parallel_tool_calls: false },
      }),
    ).toEqual({
      ...{ model: 'a/b', stream: true, temperature: 0, user: 'u', seed: 1, parallel_tool_calls: false },
      messages: [{ role: 'user', content: 'Hi' }],
      ...{ max_tokens: 9, reasoning_effort: 'high', verbosity: 'low' },
    });
  });

  test('has one message for each turn of the assistant: its reasoning, texts and parallel calls', () => {
    const encrypted_content = Buffer.from(JSON.stringify(SIGNED)).toString('base64');
    const { messages } = chatOf({
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Both?' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content },
        { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call', call_id: 'c2', name: 'g', arguments: '', extra_content: { google: {} } },
        { type: 'function_call_output', call_id: 'c1', output: 'one' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
        { type: 'function_call', call_id: 'c3', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c3', output: 'three' },
      ],
    });
    const f = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
    expect(messages).toEqual([
      { role: 'user', content: 'Both?' },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_details: SIGNED,
        tool_calls: [
          f('c1'),
          {
            id: 'c2',
            type: 'function',
            function: { name: 'g', arguments: '' },
            extra_content: { google: {} },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
      { role: 'assistant', content: null, tool_calls: [f('c3')] },
      { role: 'tool', tool_call_id: 'c3', content: 'three' },
    ]);
  });

  test('has the files that functions returned in a message after all outputs of the turn', () => {
    const image = { type: 'input_image', image_url: 'https://a.b/c.png' };
    const { messages } = chatOf({
      input: [
        { type: 'function_call_output', call_id: 'c1', output: [image] },
        { type: 'function_call_output', call_id: 'c2', output: 'two' },
        { role: 'user', content: 'Well?' },
      ],
    });
    expect(messages).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'The output follows in the next message.' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.b/c.png' } }] },
      { role: 'user', content: 'Well?' },
    ]);
  });

  test('has functions of a namespace under joined names, which the answer splits', () => {
    const tools = [{ type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'close' }] }];
    const call = {
      type: 'function_call',
      call_id: 'c1',
      name: 'close',
      namespace: 'agents',
      arguments: '{}',
    };
    const { tools: sent, messages } = chatOf({ input: [call], tools });
    const called = { id: 'c1', type: 'function', function: { name: 'agents__close', arguments: '{}' } };
    expect(sent).toEqual([{ type: 'function', function: { name: 'agents__close' } }]);
    expect(messages).toMatchObject([{ tool_calls: [called] }]);
    const { output } = answer({ content: null, tool_calls: [called] }, 'tool_calls', { input: 'Hi', tools });
    expect(output).toMatchObject([call]);
  });

  test('leaves out reasoning that another service encrypted', () => {
    const { messages } = chatOf({
      input: [
        { type: 'reasoning', encrypted_content: 'gAAAAABo' },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(messages).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  test('has only the allowed tools, and the choice among them', () => {
    const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object' }, strict: true });
    const tools = [tool('f'), tool('g')];
    const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] };
    const { name, parameters, strict } = tool('g');
    expect(chatOf({ input: 'Hi', tools, tool_choice })).toMatchObject({
      tools: [{ type: 'function', function: { name, parameters, strict } }],
      tool_choice: 'required',
    });
    expect(chatOf({ input: 'Hi', tools, tool_choice: { type: 'function', name: 'f' } }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'f' },
    });
  });

  test.each<[string, Partial<ResponsesRequest>]>([
    ['text.format.name', { text: { format: { type: 'json_schema', schema: {} } } }],
    ['text.format.type', { text: { format: { type: 'grammar' } } }],
    ['tools.0.name', { tools: [{ type: 'function' }] }],
    ['tools.0.tools.0.type', { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'mcp' }] }] }],
    ['tools.0.tools.0.type', { tools: [{ type: 'namespace', name: 'a', tools: [null] }] } as never],
    ['input.0.role', { input: [{ role: 'critic', content: 'a' }] }],
    ['input.0.call_id', { input: [{ type: 'function_call_output', output: 'a' }] }],
    ['input.0.output', { input: [{ type: 'function_call_output', call_id: 'a' }] }],
    [
      'input.0.output.0.type',
      {
        input: [{ type: 'function_call_output', call_id: 'a', output: [{ type: 'input_video' }] }],
      },
    ],
    [
      'input.0.content.0.image_url',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'a' }] }] },
    ],
  ])('is refused with the member’s path: %s', (param, body) => {
    expect(() => chatOf({ input: 'Hi', ...body })).toThrowError(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });
});

describe('an answer', () => {
  test('has reasoning, text and calls as items in order, which can be sent back unchanged', () => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }];
    const message = {
      content: 'I look.',
      reasoning_content: 'Hm.',
      reasoning_details: SIGNED,
      tool_calls: calls,
    };
    const { output } = answer(message, 'tool_calls');
    expect(output).toMatchObject([
      { id: 'rs_7_0', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      {
        id: 'msg_7_1',
        type: 'message',
        status: 'completed',
        content: [{ type: 'output_text', text: 'I look.' }],
      },
      { id: 'fc_7_2', type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
    ]);
    expect(chatOf({ input: output }).messages).toEqual([
      { role: 'assistant', content: 'I look.', reasoning_details: SIGNED, tool_calls: calls },
    ]);
  });

  test('says how it ended, what was asked for, that nothing is stored, and the usage with its cost', () => {
    expect(
      answer({ content: 'Hi' }, 'stop', { input: 'Hi', store: true, max_output_tokens: 9 }),
    ).toMatchObject({
      ...{ id: 'resp_7', object: 'response', created_at: 1_700_000_000, status: 'completed', store: false },
      ...{ max_output_tokens: 9, previous_response_id: null, error: null, incomplete_details: null },
      usage: {
        ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 5 },
        ...{ output_tokens_details: { reasoning_tokens: 3 }, total_tokens: 15, cost: 0.5 },
      },
    });
  });

  test.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
    ['max_tokens', 'max_output_tokens'],
    ['safety', 'content_filter'],
    ['refusal', 'content_filter'],
  ])('that ended by %s is incomplete for %s', (finish, reason) => {
    expect(answer({ content: 'Hi' }, finish)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      output: [{ status: 'incomplete' }],
    });
  });

  test('that is a refusal has it as a part of its message', () => {
    const content = [{ type: 'refusal', refusal: 'No.' }];
    expect(answer({ content: null, refusal: 'No.' }).output).toMatchObject([{ type: 'message', content }]);
  });

  test('has the sources of its text as flat annotations', () => {
    const citation = { url: 'https://a.b', title: 'A', start_index: 0, end_index: 2 };
    const annotations = [{ type: 'url_citation', url_citation: citation }];
    expect(answer({ content: 'Hi', annotations }).output).toMatchObject([
      { content: [{ annotations: [{ type: 'url_citation', ...citation }] }] },
    ]);
  });
});
