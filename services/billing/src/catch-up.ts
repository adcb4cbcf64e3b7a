// Read-your-writes: an answer about usage or logs includes every event that was stored before the question. Otherwise
// its `as_of` gives the time up to which the answer is complete.
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM, type EventStream, REFUSALS_STREAM } from '@switchyard/contracts';
import { acknowledgedUpTo, REFUSALS_CONSUMER } from './consumer.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { partitionsOf } from './partitions/partition.ts';

/** How long a question waits for unbooked events. */
export const CATCH_UP_MS_MAX = 2_000;
/** Interval of polling the consumer: acknowledgements reach the server with a small delay. */
const ASK_AGAIN_MS = 20;

type CatchUpDeps = Pick<PartitionDeps, 'bus' | 'progress' | 'clock'> & {
  readonly partition: Pick<PartitionDeps['partition'], 'consumer' | 'layout'>;
};

/**
 * Waits until every event that is in the stream now is booked.
 * @returns the time up to which every stored event is booked: now, or an earlier time after `CATCH_UP_MS_MAX`
 */
export function catchUp(deps: CatchUpDeps): Promise<Date> {
  return readBy({ stream: EVENTS_STREAM, name: deps.partition.consumer }, deps);
}

/** Also waits for the events of refused calls. */
export async function catchUpLogs(deps: CatchUpDeps): Promise<void> {
  await Promise.all([catchUp(deps), readBy({ stream: REFUSALS_STREAM, name: REFUSALS_CONSUMER }, deps)]);
}

/** Waits until every partition has booked the events that are in the stream now. */
export async function catchUpAll(deps: CatchUpDeps): Promise<void> {
  const partitions = partitionsOf(deps.partition.layout);
  await Promise.all(
    partitions.map(({ consumer }) => readBy({ stream: EVENTS_STREAM, name: consumer }, deps)),
  );
}

interface ConsumerOf {
  readonly stream: EventStream;
  readonly name: string;
}

async function readBy({ stream, name }: ConsumerOf, { bus, progress, clock }: CatchUpDeps): Promise<Date> {
  const now = new Date(clock.now());
  const consumerInfo = () => bus.jsm.consumers.info(stream, name);
  const [{ state }, first] = await Promise.all([bus.jsm.streams.info(stream), consumerInfo()]);
  const deadline = clock.monotonic() + CATCH_UP_MS_MAX;
  let info = first;
  const hasAll = acknowledgedUpTo(state.last_seq);
  for (; !hasAll(info); info = await consumerInfo()) {
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) return readUpTo(bus, info, state.first_ts);
    progress.hurry(); // each time: the events may arrive after the question
    await progress.changed(Math.min(leftMs, ASK_AGAIN_MS));
  }
  return now;
}

/** The time of storage of the last event below which every event is booked. */
async function readUpTo(bus: Bus, info: ConsumerInfo, streamBeganAt: string): Promise<Date> {
  const floor = info.ack_floor.stream_seq;
  const message = floor === 0 ? null : await bus.jsm.streams.getMessage(info.stream_name, { seq: floor });
  // Messages below the first one in the stream were booked, or are past retention.
  return message ? message.time : new Date(streamBeganAt);
}
