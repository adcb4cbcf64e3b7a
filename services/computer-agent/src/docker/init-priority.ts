// The init shares its computer's CPU time with everything that runs there. With the highest priority inside its container,
// a timeout ends a fork bomb of hundreds of processes. Commands run with priority 0 (init/supervisor.c).
import { readFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';

/**
 * Gives a container's first process the highest priority. Does nothing where this agent does not see the processes of
 * the engine's host (the number is another process's then) or may not set priorities.
 *
 * @param pid of the container's first process, as the engine's host numbers processes
 */
export async function raiseInitPriority(pid: number, containerId: string): Promise<void> {
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  if (!groups.includes(containerId)) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST);
  } catch {
    // The process has ended, or its priority is not ours to set.
  }
}
