// BM25 over the documents of one call, with two additions: a word similar to a query word counts in part, and
// neighbouring query words count more if they are neighbours in the document.
import type { Turns } from '../turns.ts';
import { gramsOf, likeness } from './character-grams.ts';
import { SearchTerms } from './search-terms.ts';

interface RankedDocument {
  index: number;
  /** Fraction of the query's information that the document holds, from 0 to 1. */
  score: number;
}

// Robertson's usual values.
const SATURATION_K1 = 1.2;
const LENGTH_SHARE_B = 0.75;
/** Words below this similarity are different words: `form` and `from` have 0, `banana` and `bananna` 0.92. */
const LIKENESS_MIN = 0.5;
/** Maximum weight of a word that is only similar. */
const LIKE_WORD_SHARE = 0.7;
/** Additional weight of a pair of neighbours. */
const PAIR_SHARE = 0.3;
/** Maximum distinct query terms; the work is limited to this number times the words of the documents. */
const QUERY_TERMS_MAX = 256;
/** Similar words kept for each query term; they limit the memory, and the work for each document. */
const ALIKE_MAX = 500;

interface ReadDocument {
  length: number;
  counts: ReadonlyMap<string, number>;
  pairs: ReadonlySet<string>;
}

interface QueryTerm {
  term: string;
  /** Inverse document frequency: rare words weigh more. */
  weight: number;
  /** Similar words in the documents, with their weight. */
  alike: ReadonlyMap<string, number>;
}

interface QueryPair {
  pair: string;
  weight: number;
}

/** Best first; equal documents keep their order. */
export async function rankDocuments(
  query: string,
  documents: string[],
  turns: Turns,
): Promise<RankedDocument[]> {
  const searchTerms = new SearchTerms();
  const queryTerms = searchTerms.ofQuery(query);
  const onlyStopWords = searchTerms.of(query).length === 0;
  const read: ReadDocument[] = [];
  for (const text of documents) {
    read.push(readDocument(onlyStopWords ? searchTerms.ofEveryWord(text) : searchTerms.of(text)));
    if (turns.over) await turns.next();
  }
  const terms = await weighTerms([...new Set(queryTerms)].slice(0, QUERY_TERMS_MAX), read, turns);
  const pairs = weighPairs(queryTerms, terms);
  const lengthMean = read.reduce((sum, { length }) => sum + length, 0) / read.length || 1;
  const weightTotal = [...terms, ...pairs].reduce((sum, { weight }) => sum + weight, 0) || 1;
  const ranked: RankedDocument[] = [];
  for (const [index, document] of read.entries()) {
    ranked.push({ index, score: scoreOf(document, terms, pairs, lengthMean) / weightTotal });
    if (turns.over) await turns.next();
  }
  return ranked.sort((a, b) => b.score - a.score || a.index - b.index);
}

function readDocument(terms: string[]): ReadDocument {
  const counts = new Map<string, number>();
  const pairs = new Set<string>();
  let previous: string | undefined;
  for (const term of terms) {
    counts.set(term, (counts.get(term) ?? 0) + 1);
    if (previous !== undefined) pairs.add(`${previous} ${term}`);
    previous = term;
  }
  return { length: terms.length, counts, pairs };
}

async function weighTerms(terms: string[], documents: ReadDocument[], turns: Turns): Promise<QueryTerm[]> {
  const holders = new Map<string, number>();
  for (const { counts } of documents) {
    for (const term of counts.keys()) holders.set(term, (holders.get(term) ?? 0) + 1);
    if (turns.over) await turns.next();
  }
  const alike = await findAlike(terms, [...holders.keys()], turns);
  return terms.map((term) => ({
    term,
    weight: inverseFrequency(holders.get(term) ?? 0, documents.length),
    alike: alike.get(term) ?? new Map(),
  }));
}

async function findAlike(terms: string[], vocabulary: string[], turns: Turns) {
  const wanted = terms.map((term) => ({ term, grams: gramsOf(term), alike: new Map<string, number>() }));
  for (const word of vocabulary) {
    const grams = gramsOf(word);
    for (const { term, grams: termGrams, alike } of wanted) {
      if (alike.size >= ALIKE_MAX || word === term) continue;
      if (isNumber(word) || isNumber(term)) continue; // 1984 and 1985 are not similar
      const same = likeness(grams, termGrams);
      if (same >= LIKENESS_MIN) alike.set(word, same * LIKE_WORD_SHARE);
    }
    if (turns.over) await turns.next();
  }
  return new Map(wanted.map(({ term, alike }) => [term, alike]));
}

function weighPairs(queryTerms: string[], terms: QueryTerm[]): QueryPair[] {
  const weights = new Map(terms.map(({ term, weight }) => [term, weight]));
  const pairs = new Map<string, number>();
  for (const [index, term] of queryTerms.entries()) {
    const previous = queryTerms[index - 1];
    if (previous === undefined) continue;
    const weight = (weights.get(previous) ?? 0) + (weights.get(term) ?? 0);
    pairs.set(`${previous} ${term}`, (PAIR_SHARE * weight) / 2);
  }
  return Array.from(pairs, ([pair, weight]) => ({ pair, weight }));
}

function scoreOf(document: ReadDocument, terms: QueryTerm[], pairs: QueryPair[], lengthMean: number): number {
  const slowness = SATURATION_K1 * (1 - LENGTH_SHARE_B + (LENGTH_SHARE_B * document.length) / lengthMean);
  let score = 0;
  for (const term of terms) {
    const count = countOf(document, term);
    score += (term.weight * count) / (count + slowness);
  }
  for (const { pair, weight } of pairs) if (document.pairs.has(pair)) score += weight;
  return score;
}

/** Frequency of the term; if it is missing, that of the most similar word. */
function countOf({ counts }: ReadDocument, { term, alike }: QueryTerm): number {
  const exact = counts.get(term);
  if (exact !== undefined) return exact;
  let best = 0;
  for (const [word, share] of alike) if (share > best && counts.has(word)) best = share;
  return best;
}

function inverseFrequency(holders: number, documents: number): number {
  return Math.log(1 + (documents - holders + 0.5) / (holders + 0.5));
}

function isNumber(word: string): boolean {
  return /^\p{N}+$/u.test(word);
}
