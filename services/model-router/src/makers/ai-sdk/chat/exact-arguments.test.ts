// Makers that answer with the arguments of a tool call as JSON, not as text.
import { expect, test, vi } from 'vitest';
import { HELLO, messageOf, TOOLS, withMaker } from '../../__fixtures__/replayed-chat.ts';
import { anthropic } from '../../anthropic/index.ts';
import { google } from '../../google/index.ts';
import { withExactArguments } from './exact-arguments.ts';

const first = '{"station":12345678901234567890,"near":[{"id":-9007199254740993}],"height":1.5}';
const second = '{"station":12345678901234567891,"near":[{"id":-9007199254740993}],"height":1.5}';

const blocks = [first, second].map(
  (input, at) => `{"type":"tool_use","id":"t${at}","name":"weather","input":${input}}`,
);
const ofAnthropic = `{"type":"message","id":"msg_1","model":"m","content":[${blocks}],"stop_reason":"tool_use",
  "usage":{"input_tokens":1,"output_tokens":1}}`;

const parts = [first, second].map((args) => `{"functionCall":{"name":"weather","args":${args}}}`);
const ofGoogle = `{"candidates":[{"content":{"role":"model","parts":[${parts}]},"finishReason":"STOP"}],
  "usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`;

test.each([
  ['Anthropic', anthropic, 'claude-sonnet-4-6', ofAnthropic],
  ['Google', google, 'gemini-3-flash', ofGoogle],
] as const)(
  '%s: integers above 2^53 in the arguments of calls keep their digits',
  async (_, maker, model, json) => {
    const answer = {
      ...{ source: 'made for the test', headers: { 'content-type': 'application/json' } },
      base64: Buffer.from(json).toString('base64'),
    };
    await withMaker(maker, [answer], async ({ call }) => {
      const message = messageOf(await call('language', { ...HELLO, tools: TOOLS }, { model }));
      expect(message.tool_calls).toMatchObject([
        { function: { arguments: first } },
        { function: { arguments: second } },
      ]);
    });
  },
);

test.each([
  [
    'a nested value of one call is another call',
    '{"filter":{"id":9007199254740993001}}',
    '{"id":9007199254740993002}',
  ],
  ['the integers of both round to the same', '{"id":9007199254740992}', '{"id":9007199254740993}'],
])('each call keeps its own arguments when %s', (_what, ...inputs) => {
  const calls = inputs.map((input) => ({
    ...({ type: 'tool-call', toolCallId: 't', toolName: 'f' } as const),
    input: JSON.stringify(JSON.parse(input)),
  }));
  const ofMaker = `{"content":[${inputs.map((input) => `{"type":"tool_use","input":${input}}`)}]}`;
  expect(withExactArguments(calls, ofMaker)).toMatchObject(inputs.map((input) => ({ input })));
});

test('deep arguments are written as often as flat ones', () => {
  const deep = `${'{"a":'.repeat(500)}9007199254740993${'}'.repeat(500)}`;
  const call = {
    ...({ type: 'tool-call', toolCallId: 't', toolName: 'f' } as const),
    input: JSON.stringify(JSON.parse(deep)),
  };
  using written = vi.spyOn(JSON, 'stringify');
  const [exact] = withExactArguments([call], `{"content":[{"type":"tool_use","input":${deep}}]}`);
  expect(exact).toMatchObject({ input: deep });
  expect(written.mock.calls.length).toBe(2);
});

test('arguments nested too deeply to be read exactly stay as the package read them', () => {
  const deep = `${'{"a":'.repeat(100_000)}9007199254740993${'}'.repeat(100_000)}`;
  const content = [{ type: 'tool-call', toolCallId: 't', toolName: 'f', input: '{}' } as const];
  expect(withExactArguments([...content], `{"content":[{"input":${deep}}]}`)).toEqual(content);
});
