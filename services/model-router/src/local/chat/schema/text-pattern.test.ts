import { describe, expect, it } from 'vitest';
import { parseTextPattern } from './text-pattern.ts';

const UNDERSTOOD = [
  '^[A-Z]{3}-\\d{4}$',
  '^(?:red|green|blue)$',
  'ab+c?',
  '^\\+?[1-9]\\d{1,14}$',
  '^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$',
  '^(a|b(c|d)*)+$',
  '^#[0-9a-fA-F]{6}$',
  '\\u0041.\\.',
  '^(?<year>\\d{4})-(?<month>\\d{2})$',
];

describe('parseTextPattern', () => {
  it.each(UNDERSTOOD)('writes a text in which %s is found', (source) => {
    const pattern = parseTextPattern(source);
    expect(pattern?.sample()).toMatch(new RegExp(source, 'u'));
  });

  it.each(UNDERSTOOD)('agrees with the language itself on where %s is found', (source) => {
    const pattern = parseTextPattern(source);
    const texts = [
      '',
      'ABC-1234',
      'ABC-12345',
      'red',
      'reds',
      'xabbc',
      'a@b.co',
      '+4915123',
      '#a0B1c2',
      'bcdab',
      'A!.',
      '2026-11',
    ];
    for (const text of texts) expect(pattern?.matches(text), text).toBe(new RegExp(source, 'u').test(text));
  });

  it.each(['(?=a)b', '(?!a)b', '(?<=a)b', '(a)\\1', '\\bword', '(', '[a', '*', 'a{2,1}', '(a{900}){900}'])(
    'does not claim to understand %s',
    (source) => {
      expect(parseTextPattern(source)).toBeNull();
    },
  );

  it('takes no exponential time over a pattern made for that', () => {
    const pattern = parseTextPattern('^((a+)+)+$');
    expect(pattern?.matches(`${'a'.repeat(200)}!`)).toBe(false);
  });
});
