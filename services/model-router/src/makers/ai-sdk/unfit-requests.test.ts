// Values that the conversion of a chat fails on are the caller's error, and open no circuit.
import { expect, test } from 'vitest';
import { chatFixture, failureOf, HELLO, messageOf, withMaker } from '../__fixtures__/replayed-chat.ts';
import { anthropic } from '../anthropic/index.ts';
import { google } from '../google/index.ts';
import { mistral } from '../mistral/index.ts';
import type { MakerDeclaration } from './declaration.ts';

const image = (url: string) => ({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
});
const schema = { type: 'json_schema', json_schema: { name: 'a', schema: { anyOf: 3 } } };
const signed = (signature: unknown) => ({
  messages: [
    ...HELLO.messages,
    {
      role: 'assistant',
      content: 'Hi',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm', extra_content: { anthropic: { signature } } },
      ],
    },
    ...HELLO.messages,
  ],
});

test.each<[string, MakerDeclaration, object]>([
  ['an image that is no base64', google, image('data:image/*;base64,!!!!')],
  ['an image that is no base64', anthropic, image('data:image/*;base64,!!!!')],
  ['a schema of a wrong form', google, { response_format: schema }],
  ['a signature that is no text', anthropic, signed(5)],
])('%s is refused before anything is sent', async (_what, declaration, body) => {
  const answer = chatFixture(`${import.meta.dirname}/../${declaration.name}`, 'chat-text');
  await withMaker(declaration, [answer], async ({ call, requests }) => {
    for (const stream of [false, true]) {
      const outcome = await call('language', { ...HELLO, ...body, stream });
      expect(failureOf(outcome)).toMatchObject({ status: 400, kind: 'unsupported' });
    }
    expect(requests).toEqual([]);
  });
});

test.each(['constructor', 'toString'])('an unknown field goes to the maker, also %s', async (field) => {
  const answer = chatFixture(`${import.meta.dirname}/../mistral`, 'chat-text');
  await withMaker(mistral, [answer], async ({ call, requests }) => {
    expect(messageOf(await call('language', { ...HELLO, [field]: 1 }))).toMatchObject({ content: 'OK' });
    expect(
      requests.map((request) => Object.entries(request.json()).find(([name]) => name === field)),
    ).toEqual([[field, 1]]);
  });
});
