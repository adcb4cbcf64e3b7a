// "Summarise: …": the sentences that say most of what the others say (TextRank, Mihalcea and Tarau 2004), as they
// stand and in their order. It extracts, it does not write.
import { sentencesOf } from '../../text/sentences.ts';
import { keywordsOf, wordsOf } from '../../text/words.ts';
import { type Conversation, MESSAGE_LENGTH_READ_MAX } from '../conversation.ts';
import { textAfterInstruction } from './subject.ts';

/** Sentences compared with one another: their number squared is the work. */
const SENTENCES_RANKED_MAX = 300;
/** Keywords of a sentence that are compared; longer sentences are lists or no prose. */
const SENTENCE_KEYWORDS_MAX = 50;
const ROUNDS = 30;
const DAMPING = 0.85;
const SENTENCES_DEFAULT_MAX = 3;
const TEXT_WORDS_MIN = 12;

const ASKS =
  /\bsummar(?:y|i[sz]e[ds]?|i[sz]ing)\b|\btl;?dr\b|\bkey points?\b|\bin (?:one|a) sentence\b|\bshorten\b/i;
const SENTENCES_WANTED = /\b(?:in|to|into) (\d{1,2}|one|two|three|four|five|a single) sentences?\b/i;
const WANTED_WORDS = ['a single', 'one', 'two', 'three', 'four', 'five'];

export function summary(conversation: Conversation): string | null {
  const { instruction } = conversation;
  if (!ASKS.test(instruction)) return null;
  const text = textToSummarise(conversation);
  return text === null ? null : summarise(text, wantedSentences(instruction));
}

/** The `count` sentences (a quarter of them, at most 3, unless said) that rank highest, in the text's order. */
function summarise(text: string, count?: number): string {
  const sentences = sentencesOf(text).slice(0, SENTENCES_RANKED_MAX);
  const wanted = count ?? Math.min(SENTENCES_DEFAULT_MAX, Math.ceil(sentences.length / 4));
  const keywords = sentences.map((sentence) => keywordsOf(sentence).slice(0, SENTENCE_KEYWORDS_MAX));
  const ranks = rankSentences(keywords.map((words) => new Set(words)));
  const best = sentences
    .map((sentence, index) => ({ sentence, index, rank: ranks[index] ?? 0 }))
    .sort((a, b) => b.rank - a.rank || a.index - b.index)
    .slice(0, wanted);
  return best
    .sort((a, b) => a.index - b.index)
    .map(({ sentence }) => sentence)
    .join(' ');
}

function textToSummarise({ said, earlier }: Conversation): string | null {
  const brought = textAfterInstruction(said) ?? said.replace(/^[^.!?]*\b(?:summari[sz]e|tl;?dr)\b\W*/i, '');
  if (wordsOf(brought).length >= TEXT_WORDS_MIN) return brought;
  const longest = earlier
    .map(({ text }) => text.slice(0, MESSAGE_LENGTH_READ_MAX))
    .reduce((a, b) => (b.length > a.length ? b : a), '');
  return wordsOf(longest).length >= TEXT_WORDS_MIN ? longest : null;
}

function wantedSentences(instruction: string): number | undefined {
  const word = SENTENCES_WANTED.exec(instruction)?.[1]?.toLowerCase();
  if (word === undefined) return /\bin (?:one|a) sentence\b/i.test(instruction) ? 1 : undefined;
  const index = WANTED_WORDS.indexOf(word);
  return index < 0 ? Math.max(1, Number(word)) : Math.max(1, index);
}

/** PageRank over the graph of what sentences have in common. */
function rankSentences(sentences: readonly ReadonlySet<string>[]): number[] {
  const links = sentences.map((a) => sentences.map((b) => (a === b ? 0 : similarity(a, b))));
  const sums = links.map((row) => row.reduce((sum, link) => sum + link, 0));
  let ranks = sentences.map(() => 1);
  for (let round = 0; round < ROUNDS; round += 1)
    ranks = sentences.map((_, to) => {
      let received = 0;
      for (const [from, row] of links.entries()) {
        const sum = sums[from] ?? 0;
        if (sum > 0) received += ((row[to] ?? 0) / sum) * (ranks[from] ?? 0);
      }
      return 1 - DAMPING + DAMPING * received;
    });
  return ranks;
}

function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = a.intersection(b).size;
  return common === 0 ? 0 : common / (1 + Math.log(a.size) + Math.log(b.size));
}
