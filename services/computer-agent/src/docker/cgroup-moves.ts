// Moves of processes into cgroups, of which each start of a container makes one for each controller.
//
// While it moves a process the kernel lets none of the whole host fork, execute or exit, so that none slips away: it waits
// for all that are at it already, those of a fork bomb included, and all others wait for it. Since Linux 6.0 there is a way
// to do it sooner, and since 6.18 one that stops the moved process alone; both are taken with a mount option of cgroup2,
// `favordynmods` (the kernel’s admin-guide/cgroup-v2.rst), that holds for all cgroups of the host, those of version 1 too. It
// makes each fork a little slower (figures: docs/decisions/2026-11-22-cgroup-moves.md).
import type { HostLogger } from '../computer/logger.ts';
import { type Mount, mountCommand, mounts } from './mounts.ts';

const OPTION = 'favordynmods';

/** The kernel's table of mounts, and the program that changes it. */
const HOST = { mounts, mountCommand };

/** Has the kernel move processes in that way from now on. Says why where it does not. */
export async function quickenCgroupMoves(logger: HostLogger, host = HOST): Promise<void> {
  try {
    const { point, options } = await hierarchy(host);
    if (has(options)) return;
    // What is not named is taken back by the kernel.
    await host.mountCommand('mount', '-o', `remount,${options},${OPTION}`, point);
    // From within a name space of cgroups it takes the option, and does nothing.
    if (!has((await hierarchy(host)).options)) throw new Error(`${point} did not take ${OPTION}`);
  } catch (error) {
    logger.warn({ err: error }, 'commands wait for a moment whenever a computer starts on this host');
  }
}

const has = (options: string): boolean => options.split(',').includes(OPTION);

async function hierarchy(host: typeof HOST): Promise<Mount> {
  const found = (await host.mounts()).find(({ type }) => type === 'cgroup2');
  if (!found) throw new Error('this host has no cgroup2 mounted');
  return found;
}
