import { expect, test } from 'vitest';
import { cut, cutTexts } from './cut-texts.ts';
import { TEXT_CHARACTERS_MAX } from './tool.ts';

test.each(['', 'a'])('a text of surrogate pairs after %j is valid Unicode when it is cut', (prefix) => {
  const text = prefix + '😀'.repeat(TEXT_CHARACTERS_MAX);
  const shown = cut(text);
  expect(shown.isWellFormed()).toBe(true);
  expect(shown).toContain(`\n[${text.length - TEXT_CHARACTERS_MAX} more characters are cut]`);
});

test('half of a surrogate pair in a short text is replaced', () => {
  const half = '😀'.slice(1);
  expect(cutTexts({ list: [`${half}a`, '😀', 1] })).toEqual({ list: ['\ufffda', '😀', 1] });
});
