// Tests that a Responses request passes through the OpenAI adapter, and that its errors are classified as those of chat.
import { expect, test } from 'vitest';
import { chatFixture, failureOf, withMaker } from '../__fixtures__/replayed-chat.ts';
import { openai } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, name);
const native = { dialect: 'responses' as const, headers: {} };

test.each(['text', 'stream'])(
  'the bytes of request and answer are unchanged, and the key is ours: %s',
  (name) =>
    withMaker(openai, [answer(`responses-${name}`)], async ({ call, requests }) => {
      const bytes = Buffer.from('{"model":"gpt-5-mini", "store":false,"input":"\\u00fc"}');
      const outcome = await call('language', { stream: name === 'stream' }, { native, bytes });
      expect(outcome.status).toBe(200);
      const { json, base64 = '' } = answer(`responses-${name}`);
      if (json) expect(outcome.json()).toEqual(json);
      else expect(outcome.body.toString('base64')).toBe(base64);
      expect(requests[0]).toMatchObject({ path: '/responses', body: bytes });
      expect(requests[0]?.headers).toMatchObject({
        authorization: 'Bearer a key of ours',
        'x-request-id': 'req_replayed',
      });
    }),
);

test.each([
  ['error-401', 'fault'],
  ['error-429', 'rate_limited'],
  ['error-credit', 'fault'],
  ['error-400', 'rejected'],
  ['error-503', 'fault'],
  ['error-refused', 'rejected'],
  ['error-too-long', 'too_long'],
])('%s is classified for fallback as %s', (name, kind) =>
  withMaker(openai, [answer(`chat-${name}`)], async ({ call }) =>
    expect(failureOf(await call('language', {}, { native })).kind).toBe(kind),
  ),
);
