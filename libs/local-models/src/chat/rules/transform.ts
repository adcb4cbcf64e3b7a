// "Reverse …", "Write … in upper case", "Sort …".
import type { Conversation } from '../conversation.ts';
import { subjectOf } from './subject.ts';

interface Transform {
  asks: RegExp;
  apply: (text: string) => string;
}

const TRANSFORMS: readonly Transform[] = [
  { asks: /\brevers(?:e|ed)\b|\bbackwards?\b/i, apply: reverse },
  { asks: /\bupper[- ]?cased?\b|\ball caps\b|\bcapital letters\b/i, apply: (text) => text.toUpperCase() },
  { asks: /\blower[- ]?cased?\b|\bsmall letters\b/i, apply: (text) => text.toLowerCase() },
  { asks: /\btitle[- ]?case\b|\bcapitali[sz]e\b/i, apply: titleCase },
  { asks: /\b(?:sort|alphabeti[sz]e)\b/i, apply: sortItems },
];

const VERB = String.raw`(?:please\s+|can you\s+)*(?:revers\w*|upper[- ]?case|lower[- ]?case|title[- ]?case|capitali[sz]e|sort|alphabeti[sz]e|write|put|convert|turn|spell|make)`;
const OBJECT = String.raw`(?:(?:the|this|these|following|word|words|name|names|list|string|text|phrase|sentence|letters|numbers|items|of|in)\s+)*`;
const MANNER = String.raw`(?:\s+(?:in|to|into|alphabetically|backwards?|in order)\b.*)?`;
const REST = new RegExp(String.raw`^${VERB}\s+${OBJECT}(.+?)${MANNER}[?.!]*$`, 'is');
const BACKWARDS_REST = /\bwhat is\s+(\S.*?)\s(?:reversed|backwards?|in (?:upper|lower)[- ]?case)[?.!]*$/is;

export function transform(conversation: Conversation): string | null {
  const asked = TRANSFORMS.find(({ asks }) => asks.test(conversation.instruction));
  if (!asked) return null;
  const subject = subjectOf(conversation, REST) ?? subjectOf(conversation, BACKWARDS_REST);
  return subject === null ? null : asked.apply(subject);
}

/** By what a reader sees as one character. */
function reverse(text: string): string {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
    .reverse()
    .join('');
}

function titleCase(text: string): string {
  return text.replace(/\p{L}[\p{L}\p{M}'’]*/gu, (word) => word[0]?.toUpperCase() + word.slice(1));
}

function sortItems(text: string): string {
  const separator = text.includes('\n') ? '\n' : ', ';
  const items = text
    .split(/\n|,\s*(?:and\s+)?|\sand\s/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
  const parts = items.length > 1 ? items : text.split(/\s+/);
  return parts.toSorted(new Intl.Collator('en', { numeric: true }).compare).join(separator);
}
