import { expect, test } from 'vitest';
import { readChatRequest } from './request.ts';

test('the entries of JSON schemas are not read, since there may be 500,000', () => {
  const schema = new Proxy({}, { ownKeys: () => expect.fail('its entries are read') });
  const { tools, response_format: format } = readChatRequest({
    messages: [],
    tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
  });
  expect(tools?.[0]?.function?.parameters === schema).toBe(true);
  expect(format?.json_schema?.schema === schema).toBe(true);
});

test('a JSON schema that is no object is refused with its path', () => {
  const tool = { type: 'function', function: { name: 'f', parameters: 'x' } };
  expect(() => readChatRequest({ messages: [], tools: [tool] })).toThrow(/^tools\.0\.function\.parameters: /);
});
