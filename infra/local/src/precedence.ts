/**
 * What answers goes before what computes: a service has turns of a millisecond that every caller waits for, and beside
 * it on this machine run computers, in which anything may run.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Nine times the weight of a process that nobody speaks for, and over four times that of a core’s computers together. */
export const PRECEDENCE_NICE = -10;

/**
 * Gives a process that leads a session of its own, and what it starts, more weight against others. Where this user may not
 * do that (it is root's to give) it has the weight of any process.
 */
export function goBeforeOthers(pid: number): void {
  try {
    // Of one that has stood by: Linux weighs each thread by itself, and those that come take it from the one that starts them.
    for (const thread of threadsOf(pid)) setPriority(thread, PRECEDENCE_NICE);
    // Linux weighs sessions against each other where autogroups are on, as they are on most; `nice` counts within one.
    writeFileSync(`/proc/${pid}/autogroup`, String(PRECEDENCE_NICE));
  } catch {
    // Not ours to give, no autogroups, or it has ended.
  }
}

/** Elsewhere than on Linux the process is weighed as one. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}
