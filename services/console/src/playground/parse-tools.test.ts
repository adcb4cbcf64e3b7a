import { expect, test } from 'vitest';
import { parseTools } from './parse-tools.ts';

const WEATHER = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };

test('tools are a list of functions that have a name', () => {
  expect(parseTools(JSON.stringify([WEATHER]))).toEqual([WEATHER]);
  expect(parseTools('[]')).toEqual([]);
});

test.each(['', '[', '{}', 'null', '"weather"', '[null]', '[{"type":"function"}]', JSON.stringify(WEATHER)])(
  '%s is refused',
  (text) => {
    expect(parseTools(text)).toBeUndefined();
  },
);
