// How close the stream of events is to discarding a charge that billing has not booked.
import type { StreamInfo } from '@nats-io/jetstream';
import { BOOKING_CONSUMER, EVENTS_STREAM } from '@switchyard/contracts';
import type { Bus } from './bus.ts';

const MS_NS = 1_000_000;

/**
 * The share of the stream's bytes, or of its age if greater, taken by unbooked events. From 1 on, events may be lost.
 * Booked events do not count: they fill the stream, and it discards the oldest ones.
 * @throws JetStreamError, TimeoutError
 */
export async function unbookedShare(bus: Bus, now: number): Promise<number> {
  // Read the stream last: events booked in between then count as unbooked, never the reverse.
  const booked = await bookedSeq(bus);
  const { state, config } = await bus.jsm.streams.info(EVENTS_STREAM);
  const first = Math.max(booked + 1, state.first_seq);
  const events = state.last_seq - first + 1;
  if (events <= 0) return 0;
  const orNext = { seq: first, next_by_subj: '>' }; // the first event may have been deleted
  const message = await bus.jsm.streams.getMessage(EVENTS_STREAM, orNext);
  const ageMs = message ? now - message.time.getTime() : 0;
  return Math.max(shareOfBytes({ state, config }, events), shareOfAge(config, ageMs));
}

/** Assumes messages of equal size. Where booked ones are smaller, they are discarded first, which ends the error. */
function shareOfBytes({ state, config }: Pick<StreamInfo, 'state' | 'config'>, events: number): number {
  if (config.max_bytes <= 0) return 0; // no limit
  return (Math.min(1, events / state.messages) * state.bytes) / config.max_bytes;
}

function shareOfAge({ max_age }: StreamInfo['config'], ageMs: number): number {
  return max_age <= 0 ? 0 : (ageMs * MS_NS) / max_age;
}

/** The last event that every billing partition has booked; 0: billing has never run. */
async function bookedSeq({ jsm }: Bus): Promise<number> {
  const floors: number[] = [];
  for await (const consumer of jsm.consumers.list(EVENTS_STREAM))
    if (BOOKING_CONSUMER.test(consumer.name)) floors.push(consumer.ack_floor.stream_seq);
  return floors.length === 0 ? 0 : Math.min(...floors);
}
