// Makers that answer with the arguments of a tool call as JSON, not as text.
import { expect, test } from 'vitest';
import { HELLO, messageOf, TOOLS, withMaker } from '../../__fixtures__/replayed-chat.ts';
import { anthropic } from '../../anthropic/index.ts';
import { google } from '../../google/index.ts';

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
