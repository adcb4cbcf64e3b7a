// Choices for a schema: the enum value whose words the text has, and booleans by mention and negation.
import { sentencesOf } from '../../text/sentences.ts';
import { keywordsOf, stem, wordsOf } from '../../text/words.ts';
import type { Field } from './field.ts';
import type { SourceText } from './source-text.ts';

const NEGATION = /\b(?:not|no|never|without|neither|nor|false|disabled?|off|cannot)\b|n['’]t\b/i;

/** Words of praise and blame: what a "sentiment" is read from, as nobody writes "this is positive". */
const POSITIVE = stems(
  'good great excellent amazing awesome love loved wonderful happy best fantastic enjoy pleased perfect nice delightful like thanks brilliant fast helpful recommend',
);
const NEGATIVE = stems(
  'bad terrible awful hate hated worst horrible sad angry poor disappointed disappointing broken slow useless annoying wrong fail failed never waste rude',
);
const UNDECIDED = ['neutral', 'unknown', 'other', 'none', 'unspecified', 'n/a'];

export interface FilledChoice<T> {
  value: T;
  found: boolean;
}

/** The value that the text speaks of most; else the neutral one; else the first. `values` is not empty. */
export function chooseValue<T>(values: readonly T[], source: SourceText): FilledChoice<T> {
  const scored = values.map((value) => ({ value, score: scoreOf(value, source) }));
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  if (best.score > 0) return { value: best.value, found: true };
  const undecided = values.find(
    (value) => typeof value === 'string' && UNDECIDED.includes(value.toLowerCase()),
  );
  return { value: undecided ?? best.value, found: false };
}

/** True when the text speaks of the field without a negation in that sentence. */
export function chooseBoolean(field: Field, standard: unknown, source: SourceText): FilledChoice<boolean> {
  const wanted = field.stems.filter(
    (one) => !['is', 'ha', 'has', 'should', 'can', 'was', 'enabl'].includes(one),
  );
  for (const sentence of sentencesOf(source.text)) {
    const spoken = new Set(wordsOf(sentence).map(stem));
    if (wanted.length > 0 && wanted.some((one) => spoken.has(one)))
      return { value: !NEGATION.test(sentence), found: true };
  }
  return { value: typeof standard === 'boolean' ? standard : false, found: false };
}

function scoreOf(value: unknown, { text, keywords: spoken }: SourceText): number {
  const name = String(value);
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  const whole = at >= 0 && isWhole(text, at, at + name.length) ? 2 + name.length / 100 : 0;
  const words = keywordsOf(name.replace(/[_-]/g, ' '));
  const common = words.length === 0 ? 0 : words.filter((word) => spoken.has(word)).length / words.length;
  return whole + common + sentimentScore(name.toLowerCase(), [...spoken]);
}

function sentimentScore(name: string, spoken: readonly string[]): number {
  const praise = spoken.filter((word) => POSITIVE.has(word)).length;
  const blame = spoken.filter((word) => NEGATIVE.has(word)).length;
  if (name === 'positive') return Math.max(0, praise - blame);
  if (name === 'negative') return Math.max(0, blame - praise);
  return name === 'mixed' && praise > 0 && praise === blame ? 1 : 0;
}

function isWhole(text: string, start: number, end: number): boolean {
  const isWordPart = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  return !isWordPart(text[start - 1]) && !isWordPart(text[end]);
}

function stems(words: string): ReadonlySet<string> {
  return new Set(words.split(' ').map(stem));
}
