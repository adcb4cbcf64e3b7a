import { expect, test } from 'vitest';
import { anyObject, textOrObject } from './bounded.ts';

test('an object of any content is taken as it is, and its entries are not read', () => {
  const large = new Proxy(
    {},
    {
      ownKeys: () => expect.fail('its entries are read'),
    },
  );
  expect(anyObject().parse(large)).toBe(large);
  expect(textOrObject().parse(large)).toBe(large);
  expect(textOrObject().parse('text')).toBe('text');
});

test.each([[undefined], [null], [7], [[]]])('%j is not an object', (value) => {
  expect(anyObject().safeParse(value).success).toBe(false);
  expect(textOrObject().safeParse(value).success).toBe(false);
  expect(anyObject().safeParse('text').success).toBe(false);
});
