// Choices for a schema: the enum value whose words the text has, and booleans by mention and negation.
import { shownBy } from '../../text/concepts.ts';
import { sentencesOf } from '../../text/sentences.ts';
import { keywordsOf, stem, wordsOf } from '../../text/words.ts';
import type { Field } from './field.ts';
import type { Filled, Json } from './json-schema.ts';
import type { SourceText } from './source-text.ts';

const NEGATION = /\b(?:not|no|never|without|neither|nor|false|disabled?|off|cannot)\b|n['’]t\b/i;

/** Words of praise and blame: what a "sentiment" is read from, as few texts say "this is positive". */
const PRAISE = shownBy([stem('positive')]).words;
const BLAME = shownBy([stem('negative')]).words;
const UNDECIDED = ['neutral', 'unknown', 'other', 'none', 'unspecified', 'n/a'];

/** The value that the text speaks of most; else the neutral one; else the first. `values` is not empty. */
export function chooseValue(values: readonly Json[], source: SourceText): Filled {
  const scored = values.map((value) => ({ value, score: scoreOf(value, source) }));
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  if (best.score > 0) return { value: best.value, found: 1 };
  const undecided = values.find(
    (value) => typeof value === 'string' && UNDECIDED.includes(value.toLowerCase()),
  );
  return { value: undecided ?? best.value, found: 0 };
}

/** True when the text speaks of the field without a negation in that sentence. */
export function chooseBoolean(field: Field, standard: unknown, source: SourceText): Filled {
  const wanted = field.stems.filter(
    (one) => !['is', 'ha', 'has', 'should', 'can', 'was', 'enabl'].includes(one),
  );
  for (const sentence of sentencesOf(source.text)) {
    const spoken = new Set(wordsOf(sentence).map(stem));
    if (wanted.length > 0 && wanted.some((one) => spoken.has(one)))
      return { value: !NEGATION.test(sentence), found: 1 };
  }
  return { value: typeof standard === 'boolean' ? standard : false, found: 0 };
}

function scoreOf(value: unknown, { text, keywords: spoken }: SourceText): number {
  const name = String(value);
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  const whole = at >= 0 && isWhole(text, at, at + name.length) ? 2 + name.length / 100 : 0;
  const words = keywordsOf(name.replace(/[_-]/g, ' '));
  const common = words.length === 0 ? 0 : words.filter((word) => spoken.has(word)).length / words.length;
  return whole + common + sentimentScore(name.toLowerCase(), spoken);
}

function sentimentScore(name: string, spoken: ReadonlySet<string>): number {
  const praise = spoken.intersection(PRAISE).size;
  const blame = spoken.intersection(BLAME).size;
  if (name === 'positive') return Math.max(0, praise - blame);
  if (name === 'negative') return Math.max(0, blame - praise);
  return name === 'mixed' && praise > 0 && praise === blame ? 1 : 0;
}

function isWhole(text: string, start: number, end: number): boolean {
  const isWordPart = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  return !isWordPart(text[start - 1]) && !isWordPart(text[end]);
}
