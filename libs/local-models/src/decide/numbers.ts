// Finds numbers in a text, and comparisons with them: "is the amount over 100?", "between 5 and 10", "at least $2k".

interface Comparison {
  holds(value: number): boolean;
  /** The words of the comparison, which are removed before the rest is compared. */
  words: string;
}

const FACTORS: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  million: 1e6,
  billion: 1e9,
};
const NUMBER = String.raw`[$€£]?\s?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)(?:\s?(k|m|thousand|million|billion)\b)?`;
const ALL_NUMBERS = new RegExp(`(?<![\\p{L}\\d.])${NUMBER}`, 'giu');
const BETWEEN = new RegExp(String.raw`\b(?:between|from)\s+${NUMBER}\s*(?:and|to|-)\s*${NUMBER}`, 'i');

/** Longer comparators first: "at least" before "least". */
const COMPARATORS: readonly (readonly [string, (value: number, limit: number) => boolean])[] = [
  ['no more than|not more than|at most|up to|<=|≤|maximum of', (value, limit) => value <= limit],
  ['no less than|no fewer than|not less than|at least|>=|≥|minimum of', (value, limit) => value >= limit],
  [
    'more than|greater than|larger than|higher than|older than|longer than|over|above|exceeds?|exceeding|beyond|>',
    (v, l) => v > l,
  ],
  ['less than|fewer than|smaller than|lower than|younger than|shorter than|under|below|<', (v, l) => v < l],
  ['exactly|equal to|equals?|==|=', (value, limit) => value === limit],
];

const COMPARISONS = COMPARATORS.map(([words, holds]) => ({
  pattern: new RegExp(String.raw`(?:(?<=\W|^)(?:${words}))\s*${NUMBER}`, 'i'),
  holds,
}));

export function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(ALL_NUMBERS), ([, digits, factor]) => toNumber(digits, factor));
}

/** Null when the text has no comparison with a number. */
export function comparisonIn(text: string): Comparison | null {
  const between = BETWEEN.exec(text);
  if (between) {
    const [low, high] = [toNumber(between[1], between[2]), toNumber(between[3], between[4])].sort(
      (a, b) => a - b,
    );
    return { holds: (value) => value >= (low ?? 0) && value <= (high ?? 0), words: between[0] };
  }
  for (const { pattern, holds } of COMPARISONS) {
    const found = pattern.exec(text);
    if (found) {
      const limit = toNumber(found[1], found[2]);
      return { holds: (value) => holds(value, limit), words: found[0] };
    }
  }
  return null;
}

function toNumber(digits = '', factor = ''): number {
  return Number(digits.replaceAll(',', '')) * (FACTORS[factor.toLowerCase()] ?? 1);
}
