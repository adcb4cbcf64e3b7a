// The features of a text and their weights: stems, pairs of neighbouring stems, and the character 3- to 5-grams of each
// word, which bring together forms and misspellings that share no stem.
import { isStopWord, stem, wordsOf } from '../text/words.ts';

const GRAM_LENGTH_MIN = 3;
const GRAM_LENGTH_MAX = 5;

// Tuned on the labelled sentences of embed.test.ts: words decide, pairs and grams refine.
const WORD_WEIGHT = 1;
const PAIR_WEIGHT = 0.4;
const GRAM_WEIGHT = 0.6;
/** Share of its weight that a stop word keeps. Stands for its low idf: there is no corpus. */
const STOP_WORD_SHARE = 0.08;

/** Feature -> weight. Kinds cannot collide: each has its own prefix. Never empty. */
export function textFeatures(text: string): Map<string, number> {
  const words = wordsOf(text.normalize('NFKC'));
  const features = new Map<string, number>();
  let previous: string | undefined;
  for (const word of words) {
    const root = stem(word);
    const share = isStopWord(word) ? STOP_WORD_SHARE : 1;
    add(features, `w:${root}`, WORD_WEIGHT * share);
    if (previous !== undefined) add(features, `p:${previous} ${root}`, PAIR_WEIGHT * share);
    if (share === 1) addGrams(features, word.toLowerCase());
    previous = root;
  }
  if (features.size === 0) add(features, `t:${text.trim()}`, 1);
  return damped(features);
}

/** Token ids have no text here: each is a word of its own, comparable with other id lists only. */
export function tokenIdFeatures(ids: readonly number[]): Map<string, number> {
  const features = new Map<string, number>();
  for (const id of ids) add(features, `i:${id}`, 1);
  return damped(features);
}

/** The grams of a word together have the same norm, whatever its length. */
function addGrams(features: Map<string, number>, word: string): void {
  const framed = [...`<${word}>`];
  const grams: string[] = [];
  for (let length = GRAM_LENGTH_MIN; length <= GRAM_LENGTH_MAX; length += 1)
    for (let start = 0; start + length <= framed.length; start += 1)
      grams.push(framed.slice(start, start + length).join(''));
  const weight = GRAM_WEIGHT / Math.sqrt(grams.length);
  for (const gram of grams) add(features, `g:${gram}`, weight);
}

function add(features: Map<string, number>, feature: string, weight: number): void {
  features.set(feature, (features.get(feature) ?? 0) + weight);
}

/** The tenth mention of a word says less than the first: weights above one grow with their logarithm. */
function damped(features: Map<string, number>): Map<string, number> {
  for (const [feature, weight] of features) if (weight > 1) features.set(feature, 1 + Math.log(weight));
  return features;
}
