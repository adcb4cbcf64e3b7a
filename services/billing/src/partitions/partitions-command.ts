// The command `npm run partitions`.
import { openBucket } from '@switchyard/bus';
import { PARTITION_COUNTS } from '@switchyard/contracts';
import { sleep } from '@switchyard/service';
import { consumerInfo } from '../consumer.ts';
import type { PartitionDeps } from '../partition-deps.ts';
import { askToMove, type Layout, readLayout } from './layout.ts';
import { move, replaceFormerConsumers } from './move.ts';
import { partitionsOf } from './partition.ts';

const USAGE = `usage: npm run partitions [-- --to ${PARTITION_COUNTS.join('|')}]`;
/** Covers the current batches and questions, the lease of a dead owner, and a restart of servers. */
const MOVED_WITHIN_MS = 60_000;
const CHECK_MS = 200;

type CommandDeps = Pick<PartitionDeps, 'bus' | 'store' | 'clock' | 'logger'>;

/**
 * @param to requested number of partitions; undefined: only show the layout
 * @returns the current layout as text for the standard output
 * @throws Error that names an invalid number, another move in progress, or the cause of a failed move
 */
export async function partitionsCommand(to: string | undefined, deps: CommandDeps): Promise<string> {
  if (to === undefined) return shown(await readLayout(deps.store), deps);
  const count = PARTITION_COUNTS.find((one) => String(one) === to);
  if (count === undefined) throw new Error(USAGE);
  let layout = await askToMove(deps.store, count);
  const deadline = deps.clock.monotonic() + MOVED_WITHIN_MS;
  for (; layout.moving_to !== null; layout = await readLayout(deps.store)) {
    // A running billing makes the move too. The first one to finish wins; the other may fail on its writes.
    const made = await move(layout, { ...deps, now: deps.clock.now }).catch((error: Error) => error);
    if (made === true) continue;
    if (deps.clock.monotonic() > deadline) throw moveTimedOut(made);
    await sleep(CHECK_MS, deps.clock);
  }
  await replaceFormerConsumers(deps.bus, layout);
  return shown(layout, deps);
}

function moveTimedOut(made: false | Error): Error {
  const why = made ? made.message : 'a partition still has an owner';
  return new Error(
    `The move did not finish within ${MOVED_WITHIN_MS / 1_000} s (${why}). Billing will finish it.`,
    made ? { cause: made } : {},
  );
}

async function shown(layout: Layout, { bus }: CommandDeps): Promise<string> {
  const leases = await openBucket(bus, 'leases');
  const { epoch, partitions, moving_to: to } = layout;
  const lines = [
    `layout ${epoch}: ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}${to === null ? '' : `, being split into ${to}`}`,
  ];
  for (const { name, lease, consumer } of partitionsOf(layout)) {
    const owner = (await leases.get(lease))?.value.owner ?? 'none yet';
    const info = await consumerInfo(bus, consumer).catch(() => null);
    const waiting = info ? `${info.num_pending + info.num_ack_pending} events waiting` : 'nothing read yet';
    lines.push(`${name}  owned by ${owner}  ${waiting}`);
  }
  return `${lines.join('\n')}\n`;
}
