import { expect, test } from 'vitest';
import { mergeResults } from './results-file.ts';

const titles = ['One', 'Two', 'Three'];
const earlier = mergeResults({
  introduction: '# Results',
  titles,
  fresh: new Map([
    ['One', 'first\n\n### Part\n\n| 1 |'],
    ['Three', '```text\nthird\n```'],
  ]),
  earlier: '',
});

test('sections stand in the order of the benchmarks', () => {
  expect(earlier).toBe(
    '# Results\n\n## One\n\nfirst\n\n### Part\n\n| 1 |\n\n## Three\n\n```text\nthird\n```\n',
  );
});

test('sections that were not measured again stay, and those of removed benchmarks go', () => {
  const fresh = new Map([['Two', 'second']]);
  expect(mergeResults({ introduction: '# New', titles: ['One', 'Two'], fresh, earlier })).toBe(
    '# New\n\n## One\n\nfirst\n\n### Part\n\n| 1 |\n\n## Two\n\nsecond\n',
  );
});

test('a fresh section replaces the earlier one', () => {
  const fresh = new Map([['Three', 'again']]);
  expect(mergeResults({ introduction: '# New', titles, fresh, earlier })).toBe(
    '# New\n\n## One\n\nfirst\n\n### Part\n\n| 1 |\n\n## Three\n\nagain\n',
  );
});
