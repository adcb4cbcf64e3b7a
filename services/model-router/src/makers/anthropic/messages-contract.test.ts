// Tests that a Messages request passes through the Anthropic adapter, and that its errors are classified as those of chat.
import { expect, test } from 'vitest';
import { chatFixture, failureOf, withMaker } from '../__fixtures__/replayed-chat.ts';
import { anthropic } from './index.ts';

const answer = (name: string) => chatFixture(import.meta.dirname, `chat-${name}`);
const native = { dialect: 'messages' as const, headers: { 'anthropic-beta': 'a-beta' } };

test('the bytes of request and answer are unchanged, and the key is ours', () =>
  withMaker(anthropic, [answer('text')], async ({ call, requests }) => {
    const bytes = Buffer.from(
      '{"model":"claude", "max_tokens":9,"messages":[{"role":"user","content":"\\u00fc"}]}',
    );
    const { json, status, contentType } = await call('language', {}, { native, bytes });
    expect(status).toBe(200);
    expect(contentType).toBe('application/json');
    expect(json()).toEqual(answer('text').json);
    expect(requests[0]).toMatchObject({ path: '/messages', body: bytes });
    expect(requests[0]?.headers).toMatchObject({
      'x-api-key': 'a key of ours',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a-beta',
      'x-request-id': 'req_replayed',
    });
  }));

test.each([
  ['error-401', 'fault'],
  ['error-413', 'rejected'],
  ['error-429', 'rate_limited'],
  ['error-400', 'rejected'],
  ['error-529', 'fault'],
  ['error-too-long', 'too_long'],
  ['error-credit', 'fault'],
])('%s is classified for fallback as %s', (name, kind) =>
  withMaker(anthropic, [answer(name)], async ({ call }) =>
    expect(failureOf(await call('language', {}, { native })).kind).toBe(kind),
  ),
);
