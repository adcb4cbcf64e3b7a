import { expect, test } from 'vitest';
import { readRetryAfter } from './retry-after.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['seconds', { 'retry-after': '7' }, 7],
  ['parts of a second', { 'retry-after': '0.5' }, 0.5],
  ['an HTTP date', { 'retry-after': 'Sat, 21 Nov 2026 12:00:12 GMT' }, 12],
  ['the obsolete form of an HTTP date', { 'retry-after': 'Saturday, 21-Nov-26 12:01:00 GMT' }, 60],
  ['OpenAI’s milliseconds before its seconds', { 'retry-after-ms': '1250', 'retry-after': '2' }, 1.25],
  ['more than a day', { 'retry-after': '9'.repeat(400) }, 86_400],
  ['a date that has passed', { 'retry-after': 'Sat, 21 Nov 2026 11:59:00 GMT' }, null],
  ['no time at all', { 'retry-after': '0' }, null],
  ['nonsense', { 'retry-after': 'soon' }, null],
  ['a negative time', { 'retry-after': '-5' }, null],
  ['two headers', { 'retry-after': ['1', '2'] }, null],
  ['nothing', {}, null],
])('reads %s', (_what, headers, seconds) => {
  expect(readRetryAfter(headers, () => NOW)).toBe(seconds);
});
