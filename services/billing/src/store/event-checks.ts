// What every event must be right about before it is booked.
import type { Event } from '@switchyard/contracts';

/**
 * The ids of events are derived from what they say; the ledger's exactness rests on it.
 * @throws RangeError
 */
export function assertId(event: Event, expected: string): void {
  if (event.id !== expected) throw new RangeError(`the event ${event.id} should have the id ${expected}`);
}

/** @throws RangeError for an amount below zero. */
export function nonNegativeNanos(text: string): bigint {
  const nanos = BigInt(text);
  if (nanos < 0n) throw new RangeError(`a charge below zero: ${text}`);
  return nanos;
}
