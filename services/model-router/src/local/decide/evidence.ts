// How much the facts speak for a description: above 0 for it, below 0 against it, 0 when they do not mention it.
import { shownBy } from './concepts.ts';
import { type Facts, type Field, isNegated, meaningOf } from './facts.ts';
import { comparisonIn } from './numbers.ts';

/** A field or a number that settles the matter outweighs any number of words. */
const SETTLED = 4;
const WORDS_WEIGHT = 3;
const CONCEPT_WEIGHT = 1.2;
/** Mentions of a notion that count. */
const CONCEPT_MENTIONS_MAX = 4;

/** What a description says, read once. `context` says what it is about: the question, for one of its options. */
export interface Description {
  text: string;
  context: string;
  /**
   * Of a claim a denial says the opposite; of a topic it is a mention all the same: "my parcel has not arrived" is about
   * parcels.
   */
  kind: 'claim' | 'topic';
}

/** What a mention counts whose denial is not the topic's own. */
const OTHER_DENIAL_SHARE = 0.8;

export function evidenceFor(facts: Facts, { text, context, kind }: Description): number {
  const denied = isNegated(text);
  const sign = denied ? -1 : 1;
  const settled = byNumber(facts, text, context) ?? byField(facts, text, context);
  if (settled !== null) return sign * settled * SETTLED;
  if (kind === 'claim') return sign * byWords(facts, text, (negated) => (negated ? -1 : 1));
  return byWords(facts, text, (negated) => (negated === denied ? 1 : OTHER_DENIAL_SHARE));
}

/** 1 or -1 where the text compares a number with one of the facts; null where there is none to compare. */
function byNumber(facts: Facts, text: string, context: string): 1 | -1 | null {
  const comparison = comparisonIn(text);
  if (!comparison) return null;
  const about = meaningOf(`${context} ${text.replace(comparison.words, ' ')}`);
  const value = numberAbout(facts, about);
  if (value === null) return null;
  // "not more than" is a comparison of its own: its "not" is no denial of the rest.
  const turned = isNegated(comparison.words) ? -1 : 1;
  return comparison.holds(value) ? turned : turned === 1 ? -1 : 1;
}

/** The number whose field or sentence has most of the words; the only number when none is mentioned. */
function numberAbout({ fields, statements }: Facts, about: string[]): number | null {
  const numeric = fields.filter(
    (field): field is Field & { value: number } => typeof field.value === 'number',
  );
  const candidates = [
    ...numeric.map(({ path, value }) => ({ stems: new Set(path), value })),
    ...statements.flatMap(({ stems, numbers }) => numbers.map((value) => ({ stems, value }))),
  ];
  let best: { value: number; shared: number } | null = null;
  for (const { stems, value } of candidates) {
    const shared = about.filter((one) => stems.has(one)).length;
    if (shared > (best?.shared ?? 0)) best = { value, shared };
  }
  const values = new Set(candidates.map(({ value }) => value));
  return best?.value ?? (values.size === 1 ? ([...values][0] ?? null) : null);
}

/** A field that the words name: its truth, or whether its value is the one that they name. */
function byField({ fields }: Facts, text: string, context: string): 1 | -1 | null {
  const said = new Set(meaningOf(text));
  const about = new Set([...said, ...meaningOf(context)]);
  let answer: 1 | -1 | null = null;
  for (const { path, value } of fields) {
    const named = path.at(-1) !== undefined && path.slice(-1).every((step) => about.has(step));
    const truth = typeof value === 'boolean' ? named && (value ? 1 : -1) : byValue(said, path, value, named);
    if (truth === 1) return 1;
    if (truth === -1) answer = -1;
  }
  return answer;
}

function byValue(said: Set<string>, path: string[], value: string | number, named: boolean): 1 | -1 | false {
  const words = typeof value === 'number' ? [String(value)] : meaningOf(value.slice(0, 200));
  if (!named || words.length === 0 || words.length > 4) return false;
  const other = [...said].filter((one) => !path.includes(one));
  if (other.length === 0) return false;
  return words.every((word) => said.has(word)) ? 1 : -1;
}

/** The best match of the words with one statement, and every mention of the notion that they name. */
function byWords({ statements }: Facts, text: string, weightOf: (negated: boolean) => number): number {
  const words = meaningOf(text);
  if (words.length === 0) return 0;
  const shows = shownBy(words);
  let best = 0;
  let mentions = 0;
  for (const { stems, negated } of statements) {
    const weight = weightOf(negated);
    const share = words.filter((word) => stems.has(word)).length / words.length;
    if (share > Math.abs(best)) best = weight * share;
    // "Not good" is no praise, of whatever is asked.
    for (const shown of shows.words)
      if (stems.has(shown)) mentions += shows.canBeDenied && negated ? -1 : weight;
  }
  const notion = Math.max(-CONCEPT_MENTIONS_MAX, Math.min(mentions, CONCEPT_MENTIONS_MAX));
  // Half of the words says less than half: common words are everywhere.
  return WORDS_WEIGHT * best * Math.abs(best) + CONCEPT_WEIGHT * notion;
}
