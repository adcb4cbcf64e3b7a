// "Say hello", "Reply with exactly: pong", "Repeat la 3 times", "Count to 5".
import type { Conversation } from '../conversation.ts';
import { quotedIn } from './quotations.ts';

const REPEATS_LENGTH_MAX = 100_000;
const COUNT_LENGTH_MAX = 10_000;

const COUNT = /\bcount\s+(?:out loud\s+)?(?:from\s+(-?\d{1,9})\s+)?(?:up\s+|down\s+)?to\s+(-?\d{1,9})/i;
const FILLER = String.raw`(?:only|just|exactly|back|me|the|a|single|one|word|words|phrase|number|sentence|text|following|after me|this|and nothing else)\b`;
const SAY = new RegExp(
  String.raw`^(?:please\s+|can you\s+|could you\s+)*(?:say|repeat|echo)\b[\s,]*(?:${FILLER}[\s,]*)*:?\s*(.+)$`,
  'is',
);
const REPLY_WITH = new RegExp(
  String.raw`^(?:please\s+)*(?:reply|respond|answer)\b[\s,]*(?:(?:with|only|just|exactly)\b[\s,]*)+(?:(?:with\b|${FILLER})[\s,]*)*:?\s*(.+)$`,
  'is',
);
const HOW_LONG =
  /\s+(?:in|as|using)\s+(?:just |only |exactly )?(?:a|one|a single|two|three|few)\s+(?:words?|sentences?|lines?)[.!]*$/i;
const TIMES = /^(.+?)[\s,]+(\d{1,6})\s+times\b[.!]*$/is;

export function say({ instruction: text }: Conversation): string | null {
  const counted = COUNT.exec(text);
  if (counted) return countOut(Number(counted[1] ?? 1), Number(counted[2]));
  const asked = SAY.exec(text)?.[1] ?? REPLY_WITH.exec(text)?.[1];
  if (asked === undefined || asked.endsWith('?')) return null;
  const times = TIMES.exec(asked);
  return times ? repeat(unquoted(times[1] ?? ''), Number(times[2])) : unquoted(asked);
}

function unquoted(text: string): string {
  return quotedIn(text) ?? text.replace(HOW_LONG, '').trim();
}

function countOut(from: number, to: number): string {
  const step = from <= to ? 1 : -1;
  const length = Math.abs(to - from) + 1;
  if (length > COUNT_LENGTH_MAX) return `That is ${length} numbers; I count at most ${COUNT_LENGTH_MAX}.`;
  return Array.from({ length }, (_, index) => from + index * step).join(', ');
}

function repeat(text: string, times: number): string {
  if ((text.length + 1) * times > REPEATS_LENGTH_MAX)
    return `That would be over ${REPEATS_LENGTH_MAX} characters, and I stop there.`;
  return Array.from({ length: times }, () => text).join(' ');
}
