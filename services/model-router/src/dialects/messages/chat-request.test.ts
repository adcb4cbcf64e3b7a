// Tests the translation of requests with the shapes of Anthropic's reference.
import { type MessagesRequest, messagesRequest } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { toChatRequest, toHints } from './chat-request.ts';
import { sign } from './thoughts.ts';

const PIXEL = 'iVBORw0KGgo=';
const HELLO = { model: 'acme/chat-1', max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] };

const parse = (fields: object): MessagesRequest => messagesRequest.parse({ ...HELLO, ...fields });
const chatOf = (fields: object) => toChatRequest(parse(fields));
const messagesOf = (...messages: object[]) => chatOf({ messages }).messages;

describe('a Messages request as a chat request', () => {
  test('has its model, fallbacks, length, sampling, stops, user and stream under chat’s names', () =>
    expect(
      chatOf({
        models: ['acme/chat-2'],
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        stop_sequences: ['END'],
        metadata: { user_id: 'end-user-7' },
        stream: true,
        service_tier: 'auto',
      }),
    ).toEqual({
      model: 'acme/chat-1',
      models: ['acme/chat-2'],
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 64,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop: ['END'],
      user: 'end-user-7',
      stream: true,
    }));

  test.each([
    ['Be brief.', 'Be brief.'],
    [
      [
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'text', text: 'Be kind.' },
      ],
      'Be brief.\nBe kind.',
    ],
  ])('has the system prompt as its first message: %j', (system, content) =>
    expect(chatOf({ system }).messages).toEqual([
      { role: 'system', content },
      { role: 'user', content: 'Hello' },
    ]),
  );

  test('keeps a system message in the middle of the conversation', () =>
    expect(messagesOf(...HELLO.messages, { role: 'system', content: 'It is late.' })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'It is late.' },
    ]));

  test('has images and documents as parts, and text alone as a string', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' };
    expect(
      messagesOf(
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Compare.' },
            image,
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'document', source: pdf, title: 'Report' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Well' },
            { type: 'text', text: ' done.' },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'Notes',
              source: { type: 'text', media_type: 'text/plain', data: 'a b' },
            },
            { type: 'text', text: 'And this?' },
          ],
        },
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare.' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'file', file: { filename: 'Report', file_data: 'data:application/pdf;base64,JVBERg==' } },
        ],
      },
      { role: 'assistant', content: 'Well done.' },
      { role: 'user', content: 'Notes\na b\nAnd this?' },
    ]);
  });

  test('has tool calls, and their results as messages of their own before the rest of the turn', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
    expect(
      messagesOf(
        ...HELLO.messages,
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me see.' },
            { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { place: 'Oslo' } },
            { type: 'tool_use', id: 'toolu_2', name: 'photo', input: {} },
            { type: 'tool_use', id: 'toolu_3', name: 'now', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'No such place', is_error: true },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_2',
              content: [{ type: 'text', text: 'Here.' }, image],
            },
            { type: 'tool_result', tool_use_id: 'toolu_3' },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ),
    ).toEqual([
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"place":"Oslo"}' } },
          { id: 'toolu_2', type: 'function', function: { name: 'photo', arguments: '{}' } },
          { id: 'toolu_3', type: 'function', function: { name: 'now', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: No such place' },
      {
        role: 'tool',
        tool_call_id: 'toolu_2',
        content: 'Here.\n(The files of this result follow in the next message.)',
      },
      { role: 'tool', tool_call_id: 'toolu_3', content: '' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ]);
  });

  test('gives a maker its own reasoning back, and nothing of another maker’s', () => {
    const detail = { type: 'reasoning.text', text: 'Hm.', extra_content: { google: { signature: 'abc' } } };
    const secret = { type: 'reasoning.encrypted', data: 'xyz' };
    const forged = `sy1_${Buffer.from('[null]').toString('base64url')}`;
    expect(
      messagesOf(...HELLO.messages, {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: sign('Hm.', [detail]) },
          { type: 'redacted_thinking', data: sign('', [secret]) },
          { type: 'thinking', thinking: 'Of Claude.', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' },
          { type: 'thinking', thinking: 'Forged.', signature: forged },
          { type: 'text', text: 'Hello.' },
        ],
      }),
    ).toEqual([
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: 'Hello.',
        reasoning_content: 'Hm.',
        reasoning_details: [detail, { ...secret, text: '' }],
      },
    ]);
  });

  test('has tools as functions', () => {
    const input_schema = { type: 'object', properties: { place: { type: 'string' } } };
    const tools = [
      { name: 'weather', description: 'At a place', input_schema, cache_control: { type: 'ephemeral' } },
      { type: 'custom', name: 'now', input_schema: { type: 'object' }, strict: true },
    ];
    expect(chatOf({ tools }).tools).toEqual([
      {
        type: 'function',
        function: { name: 'weather', description: 'At a place', parameters: input_schema },
      },
      { type: 'function', function: { name: 'now', parameters: { type: 'object' }, strict: true } },
    ]);
    expect(chatOf({ tools: [] })).not.toHaveProperty('tools');
  });

  test.each([
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [{ type: 'none' }, { tool_choice: 'none' }],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
    [{ type: 'tool', name: 'now' }, { tool_choice: { type: 'function', function: { name: 'now' } } }],
  ])('has the choice of a tool: %j', (tool_choice, expected) => {
    const { messages, model, max_tokens, ...rest } = chatOf({ tool_choice });
    expect(rest).toEqual(expected);
  });

  test.each([
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 31_999 } }, 'high'],
    [{ thinking: { type: 'adaptive' } }, undefined],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }, 'max'],
    [{ thinking: { type: 'disabled' } }, undefined],
  ])('has the effort of its thinking: %j', (fields, effort) =>
    expect(toHints(parse(fields)).reasoning_effort).toBe(effort),
  );

  test('has the schema of its output', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    expect(chatOf({ output_config: { format: { type: 'json_schema', schema } } }).response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema, strict: true },
    });
  });
});

describe('an unsupported field is refused by name', () => {
  const block = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });
  test.each<[string, object]>([
    ['max_tokens', { max_tokens: undefined }],
    ['mcp_servers', { mcp_servers: [] }],
    ['container', { container: 'c' }],
    ['tools.0.type', { tools: [{ type: 'web_search_20250305', name: 'web_search', input_schema: {} }] }],
    ['tool_choice.type', { tool_choice: { type: 'some' } }],
    ['thinking.type', { thinking: { type: 'maybe' } }],
    ['context_management.edits.0.type', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
    ['messages.0.role', { messages: [{ role: 'tool', content: '' }] }],
    ['messages.0.content.0.type', block({ type: 'search_result' })],
    ['messages.0.content.0.source.type', block({ type: 'image', source: { type: 'file', file_id: 'f' } })],
    [
      'messages.0.content.0.citations.enabled',
      block({
        type: 'document',
        source: { type: 'url', url: 'https://example.com/a.pdf' },
        citations: { enabled: true },
      }),
    ],
  ])('%s', (param, fields) => {
    const { error } = messagesRequest.safeParse({ ...HELLO, ...fields });
    const [issue] = error?.issues ?? [];
    const keys = issue?.code === 'unrecognized_keys' ? issue.keys : [];
    expect([...(issue?.path ?? []), ...keys].join('.')).toBe(param);
  });
});
