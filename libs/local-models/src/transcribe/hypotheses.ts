// Reads pocketsphinx' `-hypseg`: a line for each utterance with its words, their first frames and their scores.

export interface TimedWord {
  word: string;
  /** Seconds from the utterance's beginning. */
  start: number;
  end: number;
}

const FRAMES_PER_SECOND = 100;

/** `<name> S … T … A … L … (frame acoustic language word)* frame` */
const HEAD = /^(\S+) S -?\d+ T -?\d+ A -?\d+ L -?\d+ ?/;
/** `<s>`, `<sil>`, `[NOISE]`, `++BREATH++`, a grammar's `(NULL)`: sounds that are not words. */
const NO_WORD = /^[<[+(]/;
/** `read(2)`: the dictionary's second way to say it. */
const PRONUNCIATION = /\(\d+\)$/;

export function parseHypotheses(text: string): Map<string, TimedWord[]> {
  const heard = new Map<string, TimedWord[]>();
  for (const line of text.split('\n')) {
    const head = HEAD.exec(line);
    if (head?.[1] !== undefined)
      heard.set(head[1], parseWords(line.slice(head[0].length).trim().split(/\s+/)));
  }
  return heard;
}

function parseWords(fields: string[]): TimedWord[] {
  const words: TimedWord[] = [];
  for (let at = 0; at + 4 < fields.length; at += 4) {
    const word = fields[at + 3] ?? '';
    if (NO_WORD.test(word)) continue;
    const start = Number(fields[at]) / FRAMES_PER_SECOND;
    const end = Number(fields[at + 4]) / FRAMES_PER_SECOND;
    words.push({ word: word.replace(PRONUNCIATION, ''), start, end });
  }
  return words;
}
