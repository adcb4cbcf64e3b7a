// Reading one's own writes: an answer about usage or logs holds every event that was stored before it was asked for, or
// says in `as_of` up to when it does.
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Partition } from './partitions/partition.ts';
import type { Progress } from './progress.ts';

/** How long a question waits for events that are not booked yet. */
export const CATCH_UP_MS_MAX = 2_000;
/** Acknowledgements reach the server a little after they are sent: it is asked again this often. */
const ASK_AGAIN_MS = 20;

export interface CatchUpOptions {
  readonly bus: Bus;
  readonly partition: Pick<Partition, 'consumer'>;
  readonly progress: Progress;
  readonly clock: Clock;
}

/**
 * Waits until everything that is in the stream now is booked.
 * @returns the moment up to which every stored event is booked: now, or an earlier one after `CATCH_UP_MS_MAX`.
 */
export async function catchUp({ bus, partition, progress, clock }: CatchUpOptions): Promise<Date> {
  const now = new Date(clock.now());
  const consumerInfo = () => bus.jsm.consumers.info(EVENTS_STREAM, partition.consumer);
  let info = await consumerInfo();
  if (hasAll(info)) return now;
  const { state } = await bus.jsm.streams.info(EVENTS_STREAM);
  const deadline = clock.monotonic() + CATCH_UP_MS_MAX;
  while (!hasAll(info) && info.ack_floor.stream_seq < state.last_seq) {
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) return bookedUpTo(bus, info, state.first_ts);
    await progress.changed(Math.min(leftMs, ASK_AGAIN_MS));
    info = await consumerInfo();
  }
  return now;
}

function hasAll({ num_pending: waiting, num_ack_pending: onTheirWay }: ConsumerInfo): boolean {
  return waiting === 0 && onTheirWay === 0;
}

/** When the last event was stored below which none is missing. */
async function bookedUpTo(bus: Bus, info: ConsumerInfo, streamBeganAt: string): Promise<Date> {
  const floor = info.ack_floor.stream_seq;
  const message = floor === 0 ? null : await bus.jsm.streams.getMessage(EVENTS_STREAM, { seq: floor });
  // What is below the first message that the stream still has was booked, or is too old to be asked for.
  return message ? message.time : new Date(streamBeganAt);
}
