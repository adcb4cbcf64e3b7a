// CPU time and memory of processes, from /proc.
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU milliseconds that the processes have used so far. */
export function cpuMs(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return (ticks.reduce((sum, one) => sum + one, 0) * 1_000) / TICKS_PER_SECOND;
}

/** Resident MiB of the processes together. */
export function residentMiB(pids: readonly number[]): number {
  const kib = pids.map((pid) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0),
  );
  return kib.reduce((sum, one) => sum + one, 0) / 1_024;
}
