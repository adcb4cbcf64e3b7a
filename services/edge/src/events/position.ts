// The position of an event stream, as its ids show it: the last sequences of EVENTS and REFUSALS that were sent.
import type { EventStream } from '@switchyard/contracts';

/** The last sequence of each stream of events. */
export type Position = Record<EventStream, number>;

export function formatPosition({ EVENTS, REFUSALS }: Position): string {
  return `${EVENTS}.${REFUSALS}`;
}

/**
 * Reads a position. A part that is missing or after `now` becomes that of `now`; 0 alone sets both.
 * @param text matches EVENT_POSITION; undefined: now
 */
export function parsePosition(text: string | undefined, now: Position): Position {
  if (text === undefined) return { ...now };
  const [events, refusals = events === '0' ? '0' : undefined] = text.split('.');
  const upTo = (part: string | undefined, last: number) =>
    part === undefined ? last : Math.min(Number(part), last);
  return { EVENTS: upTo(events, now.EVENTS), REFUSALS: upTo(refusals, now.REFUSALS) };
}
