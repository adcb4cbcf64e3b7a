// What `npm run partitions` does and says.
import type { Bus } from '@switchyard/bus';
import { openBucket } from '@switchyard/bus';
import { PARTITION_COUNTS } from '@switchyard/contracts';
import { type Clock, type Logger, passed } from '@switchyard/service';
import { consumerInfo } from '../consumer.ts';
import type { Store } from '../store/store.ts';
import { askToMove, type Layout, readLayout } from './layout.ts';
import { move, removeFormerConsumers } from './move.ts';
import { partitionsOf } from './partition.ts';

const USAGE = `usage: npm run partitions [-- --to ${PARTITION_COUNTS.join('|')}]`;
/** Whoever books finishes its batch and what it is asked; who died is out when its lease is; servers may be restarted. */
const MOVED_WITHIN_MS = 60_000;
const LOOK_MS = 200;

export interface CommandOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * @param to into how many partitions billing is to be split; undefined: as it is
 * @returns the layout that holds then; for the standard output
 * @throws Error saying what is wrong with the number, that another move is under way, or what keeps this one from its end
 */
export async function partitionsCommand(to: string | undefined, on: CommandOptions): Promise<string> {
  if (to === undefined) return shown(await readLayout(on.store), on);
  const count = PARTITION_COUNTS.find((one) => String(one) === to);
  if (count === undefined) throw new Error(USAGE);
  let layout = await askToMove(on.store, count);
  const deadline = on.clock.monotonic() + MOVED_WITHIN_MS;
  for (; layout.moving_to !== null; layout = await readLayout(on.store)) {
    // Billing does it too, where it runs; whoever is first has done it, and the others may meet what it writes.
    const made = await move(layout, { ...on, now: on.clock.now }).catch((error: Error) => error);
    if (made === true) continue;
    if (on.clock.monotonic() > deadline) throw stillOn(made);
    await passed(LOOK_MS, on.clock);
  }
  await removeFormerConsumers(on.bus, layout);
  return shown(layout, on);
}

function stillOn(made: false | Error): Error {
  const why = made ? made.message : 'somebody still books';
  return new Error(
    `the move is not made after ${MOVED_WITHIN_MS / 1_000} s (${why}); billing makes it as soon as it can`,
    made ? { cause: made } : {},
  );
}

async function shown(layout: Layout, { bus }: CommandOptions): Promise<string> {
  const leases = await openBucket(bus, 'leases');
  const { epoch, partitions, moving_to: to } = layout;
  const lines = [
    `layout ${epoch}: ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}${to === null ? '' : `, being split into ${to}`}`,
  ];
  for (const { name, lease, consumer } of partitionsOf(layout)) {
    const owner = (await leases.get(lease))?.value.owner ?? 'nobody, yet';
    const info = await consumerInfo(bus, consumer).catch(() => null);
    const waiting = info ? `${info.num_pending + info.num_ack_pending} events waiting` : 'nothing read yet';
    lines.push(`${name}  owned by ${owner}  ${waiting}`);
  }
  return `${lines.join('\n')}\n`;
}
