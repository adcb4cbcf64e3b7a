// The move from one layout to the next. All owners stop when they read that a move is requested. Then the first process
// to look ends the layout in every ledger, records how far all partitions had booked, and writes the next layout. Each
// step is idempotent and may run in several processes, so any process can resume a move after a kill. Events wait in
// the stream meanwhile.
import { JetStreamApiError } from '@nats-io/jetstream';
import { type Bus, ensureEventsStream, openBucket } from '@switchyard/bus';
import { BOOKING_CONSUMER, EVENTS_STREAM } from '@switchyard/contracts';
import { bookedBefore, consumerInfo, ensureConsumer } from '../consumer.ts';
import type { PartitionDeps } from '../partition-deps.ts';
import { ensureIndexes } from '../store/indexes.ts';
import { partitionName } from '../store/partition.ts';
import { fence } from './fence.ts';
import { type Layout, replaceLayout } from './layout.ts';
import { partitionsOf } from './partition.ts';

/** The step that just ended, for tests that stop there. */
export type MoveStep = 'free' | 'fenced' | 'positioned' | 'moved';

interface MoveDeps extends Pick<PartitionDeps, 'bus' | 'store' | 'logger'> {
  readonly now: () => number;
  /** Called and awaited after each step; an error ends the move there. */
  readonly onStep?: (step: MoveStep) => void | Promise<void>;
}

/**
 * Makes the move that a layout requests.
 * @returns false while a partition still has an owner under this layout: try again
 * @throws LedgerGap, AnotherWriter, JetStreamError, ServiceError `service_unavailable`, and the driver's errors: try
 * again
 */
export async function move(layout: Layout, deps: MoveDeps): Promise<boolean> {
  const { bus, store, logger, now, onStep = () => {} } = deps;
  const { epoch, moving_to: to } = layout;
  if (to === null) return true;
  if (!(await areFree(bus, layout))) return false;
  await onStep('free');

  const ever = Math.max(layout.ever, to);
  await ensureIndexes(store);
  for (let index = 0; index < ever; index += 1)
    await fence({ store, partition: partitionName(index), epoch: epoch + 1, now: now(), logger });
  await onStep('fenced');

  const from = await bookedUpTo(bus, layout);
  await onStep('positioned');

  const next: Layout = { epoch: epoch + 1, partitions: to, ever, from, moving_to: null };
  if (await replaceLayout(store, layout, next)) logger.info({ ...next }, 'billing was split');
  await onStep('moved');
  return true;
}

async function areFree(bus: Bus, layout: Layout): Promise<boolean> {
  const leases = await openBucket(bus, 'leases');
  for (const { lease } of partitionsOf(layout)) if (await leases.get(lease)) return false;
  return true;
}

/** The last message in the stream up to which every partition has booked its events; null: unknown, or none. */
async function bookedUpTo(bus: Bus, layout: Layout): Promise<Layout['from']> {
  await ensureEventsStream(bus);
  let seq = Number.POSITIVE_INFINITY;
  for (const { consumer } of partitionsOf(layout)) {
    const info = await consumerInfo(bus, consumer);
    seq = Math.min(seq, info ? info.ack_floor.stream_seq : await bookedBefore(bus, layout));
  }
  const message = seq === 0 ? null : await bus.jsm.streams.getMessage(EVENTS_STREAM, { seq });
  return message ? { seq, at: message.time } : null;
}

/**
 * Replaces the consumers of earlier layouts. Those of this layout exist first: without a consumer, the edges take every
 * event for unbooked, and refuse work. Idempotent.
 */
export async function replaceFormerConsumers(bus: Bus, layout: Layout): Promise<void> {
  for (const partition of partitionsOf(layout)) await ensureConsumer(bus, partition);
  for await (const { name } of bus.jsm.consumers.list(EVENTS_STREAM)) {
    const found = BOOKING_CONSUMER.exec(name);
    if (!found || Number(found[1] ?? 0) >= layout.epoch) continue;
    await bus.jsm.consumers.delete(EVENTS_STREAM, name).catch((error: unknown) => {
      if (!(error instanceof JetStreamApiError)) throw error; // another process has removed the consumer
    });
  }
}
