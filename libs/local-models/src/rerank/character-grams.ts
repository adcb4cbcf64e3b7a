// How much two words look alike: the backoff for misspellings and forms that share no stem.

const GRAM_LENGTH = 3;

/** The grams of a word with its ends marked: `cat` -> `<ca`, `cat`, `at>`. */
export function gramsOf(word: string): Set<string> {
  const framed = `<${word}>`;
  const grams = new Set<string>();
  for (let start = 0; start + GRAM_LENGTH <= framed.length; start += 1)
    grams.add(framed.slice(start, start + GRAM_LENGTH));
  return grams;
}

/** Dice's coefficient, 0 to 1. */
export function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  let shared = 0;
  for (const gram of few) if (many.has(gram)) shared += 1;
  const total = a.size + b.size;
  return total === 0 ? 0 : (2 * shared) / total;
}
