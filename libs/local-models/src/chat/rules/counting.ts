// "How many words are in …", "How many r's are in strawberry?"
import { sentencesOf } from '../../text/sentences.ts';
import { wordsOf } from '../../text/words.ts';
import type { Conversation } from '../conversation.ts';
import { subjectOf } from './subject.ts';

const COUNTERS: Readonly<Record<string, (text: string) => number>> = {
  word: (text) => wordsOf(text).length,
  letter: (text) => text.match(/\p{L}/gu)?.length ?? 0,
  character: (text) => [...new Intl.Segmenter().segment(text)].length,
  sentence: (text) => sentencesOf(text).length,
  vowel: (text) => text.normalize('NFD').match(/[aeiou]/gi)?.length ?? 0,
  digit: (text) => text.match(/\p{Nd}/gu)?.length ?? 0,
  line: (text) => text.split('\n').length,
};

const ASKS = /\b(?:how many|count|number of)\b/i;
const UNIT = /\b(word|letter|character|sentence|vowel|digit|line)s?\b/i;
const ONE_LETTER =
  /\b(?:how many|count|number of)\s+(?:the\s+)?(?:letters?\s+)?["'“‘]?(\p{L})["'”’]?(?:['’]?s)?\s+(?:are\b|is\b|in\b|does\b|there\b|letters?\b)/iu;
const REST =
  /\b(?:in|of|does)\s+(?:the\s+)?(?:(?:word|phrase|text|sentence|string|following)\s+)?(.+?)(?:\s+have)?[?.!]*$/is;

export function counting(conversation: Conversation): string | null {
  const { instruction } = conversation;
  if (!ASKS.test(instruction)) return null;
  const letter = ONE_LETTER.exec(instruction)?.[1];
  if (letter !== undefined) return countLetter(instruction, letter.toLowerCase());
  const unit = UNIT.exec(instruction)?.[1]?.toLowerCase();
  const count = unit === undefined ? undefined : COUNTERS[unit];
  const subject = subjectOf(conversation, REST);
  if (unit === undefined || count === undefined || subject === null) return null;
  return `${inBrief(subject)} has ${plural(count(subject), unit)}.`;
}

function countLetter(instruction: string, letter: string): string | null {
  // The letter may itself stand in quotation marks: what it is counted in comes after.
  const subject = REST.exec(instruction)?.[1]?.replace(/^["'“‘]|["'”’]$/g, '');
  if (subject === undefined) return null;
  const count = [...subject.toLowerCase()].filter((one) => one === letter).length;
  return `The letter ${letter} is ${count === 1 ? 'once' : `${count} times`} in ${inBrief(subject)}.`;
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function inBrief(text: string): string {
  return text.length <= 60 && !text.includes('\n') ? `"${text}"` : 'The text';
}
