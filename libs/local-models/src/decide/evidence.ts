// Evidence of the facts for a description: positive for it, negative against it, 0 when it is not mentioned.
import { shownBy } from '../text/concepts.ts';
import { type Facts, isNegated, meaningOf } from './facts.ts';
import { comparisonIn } from './numbers.ts';

/** A decisive field or number outweighs any number of words. */
const SETTLED = 4;
const WORDS_WEIGHT = 3;
const CONCEPT_WEIGHT = 1.2;
/** Maximum mentions of a concept that count. */
const CONCEPT_MENTIONS_MAX = 4;

/** A parsed description. `context` is the meaning of its subject, e.g. of the question that an option belongs to. */
export interface Description {
  text: string;
  context: readonly string[];
  /**
   * A negated claim is evidence against it. A negated topic is still a mention: "my parcel has not arrived" is about
   * parcels.
   */
  kind: 'claim' | 'topic';
}

/** Weight of a mention whose negation does not concern the topic itself. */
const OTHER_DENIAL_SHARE = 0.8;

export function evidenceFor(facts: Facts, { text, context, kind }: Description): number {
  const denied = isNegated(text);
  const sign = denied ? -1 : 1;
  const settled = byNumber(facts, text, context) ?? byField(facts, text, context);
  if (settled !== null) return sign * settled * SETTLED;
  if (kind === 'claim') return sign * byWords(facts, text, (negated) => (negated ? -1 : 1));
  return byWords(facts, text, (negated) => (negated === denied ? 1 : OTHER_DENIAL_SHARE));
}

/** 1 or -1 when the text compares a number with one of the facts; otherwise null. */
function byNumber(facts: Facts, text: string, context: readonly string[]): 1 | -1 | null {
  const comparison = comparisonIn(text);
  if (!comparison) return null;
  const about = new Set([...context, ...meaningOf(text.replace(comparison.words, ' '))]);
  const value = numberAbout(facts, about);
  if (value === null) return null;
  // "not more than" is a single comparison: its "not" does not negate the rest.
  const turned = isNegated(comparison.words) ? -1 : 1;
  return comparison.holds(value) ? turned : turned === 1 ? -1 : 1;
}

/** The number whose field or sentence shares most words; without a match, the only number. */
function numberAbout({ numbers, onlyNumber }: Facts, about: ReadonlySet<string>): number | null {
  let best: { value: number; shared: number } | null = null;
  for (const { stems, value } of numbers) {
    const shared = about.intersection(stems).size;
    if (shared > (best?.shared ?? 0)) best = { value, shared };
  }
  return best?.value ?? onlyNumber;
}

/** Evidence of a field that the words name: its truth, or whether they also name its value. */
function byField({ fields }: Facts, text: string, context: readonly string[]): 1 | -1 | null {
  const said = new Set(meaningOf(text));
  const about = new Set([...said, ...context]);
  let answer: 1 | -1 | null = null;
  for (const { path, value } of fields) {
    if (!about.has(path.at(-1) ?? '')) continue;
    const truth = typeof value === 'boolean' ? (value ? 1 : -1) : byValue(said, path, value);
    if (truth === 1) return 1;
    if (truth === -1) answer = -1;
  }
  return answer;
}

/** Whether the words also name the value of the field that they name; null when they name no value. */
function byValue(said: ReadonlySet<string>, path: string[], value: string | number): 1 | -1 | null {
  const words = typeof value === 'number' ? [String(value)] : meaningOf(value.slice(0, 200));
  if (words.length === 0 || words.length > 4) return null;
  if (said.isSubsetOf(new Set(path))) return null;
  return words.every((word) => said.has(word)) ? 1 : -1;
}

/** The best match of the words with one statement, plus every mention of the named concept. */
function byWords({ statements }: Facts, text: string, weightOf: (negated: boolean) => number): number {
  const words = new Set(meaningOf(text));
  if (words.size === 0) return 0;
  const shows = shownBy([...words]);
  let best = 0;
  let mentions = 0;
  for (const { stems, negated } of statements) {
    const weight = weightOf(negated);
    const share = words.intersection(stems).size / words.size;
    if (share > Math.abs(best)) best = weight * share;
    // "Not good" is no praise, whatever the question.
    for (const shown of shows.words)
      if (stems.has(shown)) mentions += shows.canBeDenied && negated ? -1 : weight;
  }
  const notion = Math.max(-CONCEPT_MENTIONS_MAX, Math.min(mentions, CONCEPT_MENTIONS_MAX));
  // Half of the words counts less than half, since common words occur everywhere.
  return WORDS_WEIGHT * best * Math.abs(best) + CONCEPT_WEIGHT * notion;
}
