// Limits that the engine lacks. The agent sets them from the host before any program runs inside: on the first process
// of a container and on what belongs to it alone.
import { readFile, writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { basename, join } from 'node:path';
import type { Logger } from '@switchyard/service';
import { BYTES_PER_MB, INIT_PATH } from './container-config.ts';
import { runProgram } from './host-programs.ts';

/** TCP and UDP together. The host has about 9 % of its memory for each (`net.ipv4.tcp_mem`, `udp_mem`). */
const SOCKET_BYTES_MAX = 64 * BYTES_PER_MB;
/** The kernel counts the terminals of all containers together, and allows 3,072 by default. */
const TERMINALS_MAX = 128;
/** As the engine mounts it: a remount sets all options. */
const DEVPTS_OPTIONS = `nosuid,noexec,ptmxmode=0666,mode=0620,gid=5,max=${TERMINALS_MAX}`;
const REMOUNT_TIMEOUT_MS = 30_000;

/**
 * Does nothing where this agent does not see the processes of the engine's host (the pid is another process's then),
 * and skips what it may not set.
 *
 * @param pid of the container's first process, as the engine's host numbers processes
 */
export async function setHostSideLimits(pid: number, containerId: string, logger: Logger): Promise<void> {
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  if (!groups.includes(containerId)) return;
  raisePriority(pid);
  await limitSocketBuffers(groups, containerId);
  await limitTerminals(pid).catch((error: unknown) =>
    logger.warn({ err: error, container: containerId }, 'the terminals of a computer are not limited'),
  );
}

/**
 * The init shares its computer's CPU time with everything that runs there. With the highest priority inside its
 * container, a timeout ends a fork bomb of hundreds of processes. Commands run with priority 0 (init/supervisor.c).
 */
function raisePriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST);
  } catch {
    // The process has ended, or its priority is not ours to set.
  }
}

/**
 * cgroup v1 leaves the buffers of sockets out of a container's memory unless it has this limit when a socket is made.
 * The kernel does not count connections that no program has accepted (docs/computers.md).
 * @param groups of the container's first process
 */
async function limitSocketBuffers(groups: string, containerId: string): Promise<void> {
  const group = /^\d+:memory:(.+)$/m.exec(groups)?.[1];
  if (!group?.includes(containerId)) return; // undefined with cgroup v2
  const file = join('/sys/fs/cgroup/memory', group, 'memory.kmem.tcp.limit_in_bytes');
  await writeFile(file, `${SOCKET_BYTES_MAX}`, { flag: 'r+' }).catch(() => {}); // not ours to set, or no such file
}

/**
 * Limits the container's own /dev/pts. `mount -N` runs the host's program and enters the container for its system calls
 * only; `nsenter` would run, as the host's root, the program `mount` that the image contains.
 */
async function limitTerminals(pid: number): Promise<void> {
  // The first process of another runtime (a virtual machine) may be in the host's own mount namespace.
  const name = await readFile(`/proc/${pid}/comm`, 'utf8');
  if (name.trim() !== basename(INIT_PATH)) return;
  const inside = ['--internal-only', '-n', '-N', `/proc/${pid}/ns/mnt`];
  const remount = ['-t', 'devpts', '-o', `remount,${DEVPTS_OPTIONS}`, 'devpts', '/dev/pts'];
  await runProgram('mount', [...inside, ...remount], { timeout: REMOUNT_TIMEOUT_MS });
}
