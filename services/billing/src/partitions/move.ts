// From one layout to the next. Whoever books stops as soon as it reads that a move is on; then whichever process comes
// first ends the layout in every ledger, notes how far all had booked, and writes the next layout. Each step may be
// repeated, and made by several at once: killed anywhere, it is made again by the next that looks. Events wait in the
// stream meanwhile.
import { AckPolicy, type ConsumerConfig, DeliverPolicy, JetStreamApiError } from '@nats-io/jetstream';
import { type Bus, ensureEventsStream, openBucket } from '@switchyard/bus';
import { EVENTS_STREAM, EVENTS_SUBJECTS } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { bookedBefore, consumerInfo } from '../consumer.ts';
import { ensureIndexes } from '../store/indexes.ts';
import { partitionName } from '../store/partition.ts';
import type { Store } from '../store/store.ts';
import { fence } from './fence.ts';
import { type Layout, replaceLayout } from './layout.ts';
import { ONLY_PARTITION, partitionsOf } from './partition.ts';

/** What has just been done, for tests that stop there. */
export type MoveStep = 'free' | 'fenced' | 'positioned' | 'moved';

export interface MoveOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly logger: Logger;
  readonly now: () => number;
  /** Called after each step and waited for; what it throws ends the move there. */
  readonly onStep?: (step: MoveStep) => void | Promise<void>;
}

/**
 * Makes the move that a layout asks for.
 * @returns false while somebody still owns a partition under it: ask again.
 * @throws LedgerGap, AnotherWriter, JetStreamError, ServiceError `service_unavailable`, and the driver's errors: ask again.
 */
export async function move(layout: Layout, options: MoveOptions): Promise<boolean> {
  const { bus, store, logger, now, onStep = () => {} } = options;
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
  if (await replaceLayout(store, layout, next)) logger.info({ ...next }, 'billing is split anew');
  await onStep('moved');
  return true;
}

async function areFree(bus: Bus, layout: Layout): Promise<boolean> {
  const leases = await openBucket(bus, 'leases');
  for (const { lease } of partitionsOf(layout)) if (await leases.get(lease)) return false;
  return true;
}

/** The last message of the stream up to which every partition has booked its own; null: not known, or none. */
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

/** A consumer of a layout that is no more. */
const CONSUMER_NAME = /^billing-p\d+(?:-e(\d+))?$/;

/**
 * Removes the consumers of layouts that are no more; and bars those out that know no layout, for as long as billing is
 * split. Idempotent.
 */
export async function removeFormerConsumers(bus: Bus, { epoch, partitions }: Layout): Promise<void> {
  const isSplit = partitions > 1;
  for await (const { name, config } of bus.jsm.consumers.list(EVENTS_STREAM)) {
    const found = CONSUMER_NAME.exec(name);
    if (!found || Number(found[1] ?? 0) >= epoch || (isSplit && isBar(config))) continue;
    await bus.jsm.consumers.delete(EVENTS_STREAM, name).catch((error: unknown) => {
      if (!(error instanceof JetStreamApiError)) throw error; // another has removed it
    });
  }
  if (isSplit) await bus.jsm.consumers.add(EVENTS_STREAM, BAR);
}

/**
 * Stands where a release before partitions makes its consumer. Such a process would see neither the layout nor what the
 * fence means, and book all orgs into the first partition; a consumer that begins elsewhere it can neither make its own
 * nor remove, and without one it gives the lease back. It brings nobody anything.
 */
const BAR = {
  durable_name: ONLY_PARTITION.consumer,
  description: 'keeps releases out that do not know that billing is split',
  deliver_policy: DeliverPolicy.New,
  ack_policy: AckPolicy.Explicit,
  filter_subject: EVENTS_SUBJECTS.replace('>', 'none'),
} as const;

function isBar({
  durable_name,
  filter_subject,
}: Pick<ConsumerConfig, 'durable_name' | 'filter_subject'>): boolean {
  return durable_name === BAR.durable_name && filter_subject === BAR.filter_subject;
}
