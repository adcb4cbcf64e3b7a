// "What time is it?", "What day was 2026-11-21?"
import type { Conversation } from '../conversation.ts';

const ASKS_TIME =
  /\bwhat(?:'s|’s| is)? (?:the )?(?:current )?time\b|\bwhat time is it\b|\bcurrent time\b|\btell me the time\b/i;
const ASKS_DATE =
  /\b(?:what(?:'s|’s| is| day is| date is)?|which|tell me|give me|today(?:'s|’s))\b.*\b(?:date|day|today|year|month)\b/i;
const ISO_DATE = /\b(\d{4})-(\d{2})-(\d{2})\b/;

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' });
const timeFormat = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

export function clock({ instruction: said, now }: Conversation): string | null {
  if (ASKS_TIME.test(said)) return `It is ${timeFormat.format(now)} UTC on ${dayFormat.format(now)}.`;
  if (!ASKS_DATE.test(said) || said.length > 120) return null;
  const named = ISO_DATE.exec(said)?.[0];
  if (named === undefined)
    return /\b(?:today|date|it)\b/i.test(said) ? `Today is ${dayFormat.format(now)}.` : null;
  const date = new Date(`${named}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? `${named} is not a date.` : `${named} is ${dayFormat.format(date)}.`;
}
