// How long the cores of this host were idle, from /proc/stat, which counts for the whole host in a container too.
import { openSync, readSync } from 'node:fs';

/** `USER_HZ`, which is part of the kernel's interface: 100 to a second on every architecture that we run on. */
const TICK_MS = 10;
const FIRST_LINE_BYTES_MAX = 512;

/** @returns a function that tells the milliseconds of all cores together; undefined where the kernel does not tell */
export function openHostIdle(path = '/proc/stat'): (() => number) | undefined {
  try {
    const file = openSync(path, 'r');
    const bytes = Buffer.alloc(FIRST_LINE_BYTES_MAX);
    return () => idleOf(bytes.toString('latin1', 0, readSync(file, bytes, 0, FIRST_LINE_BYTES_MAX, 0)));
  } catch {
    return undefined;
  }
}

/** Of `cpu <user> <nice> <system> <idle> <iowait> …`: a core that waits for a disk is free for others. */
function idleOf(stat: string): number {
  const [idle, waiting] = stat.trim().split(/\s+/, 6).slice(4).map(Number);
  return ((idle ?? 0) + (waiting ?? 0)) * TICK_MS;
}
