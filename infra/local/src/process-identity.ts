/**
 * The identity of a process beyond its number, because the kernel reuses numbers and a signal must not hit another
 * process. It is the start time; a command line would not do, because a process may change it.
 */
import { readFile } from 'node:fs/promises';
import { runCommand } from './run-command.ts';

const PS_TIMEOUT_MS = 5_000;
/** In /proc/<pid>/stat, counted from the field after the name, which itself may hold spaces: man 5 proc. */
const STATE_FIELD = 0;
const START_TIME_FIELD = 19;

/** Undefined when there is no such process, or only its zombie. */
export async function processIdentity(pid: number): Promise<string | undefined> {
  return process.platform === 'linux' ? identityFromProc(pid) : identityFromPs(pid);
}

async function identityFromProc(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[STATE_FIELD] === 'Z' || fields[STATE_FIELD] === 'X') return undefined;
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    return `${boot}/${fields[START_TIME_FIELD]}`;
  } catch {
    return undefined;
  }
}

async function identityFromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await runCommand('ps', ['-o', 'lstart=', '-p', String(pid)], {
      timeoutMs: PS_TIMEOUT_MS,
    });
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
