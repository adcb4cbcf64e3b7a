// Kernel limits of the whole host, or of one user, that one computer could exhaust for all: to the kernel, root in a
// computer is the host's root user. The kernel memory behind each counter is charged to the computer's cgroup, so the
// memory limit bounds it, and the host-wide limit may be as high as the kernel allows. The agent changes none of them.
import { readFile } from 'node:fs/promises';
import type { Logger } from '@switchyard/service';

const INT_MAX = 2 ** 31 - 1;

/** The value that each setting needs at least. */
export const HOST_LIMITS: Readonly<Record<string, number>> = {
  'fs.file-max': INT_MAX,
  'fs.epoll.max_user_watches': INT_MAX,
  'fs.inotify.max_user_instances': INT_MAX,
  'fs.inotify.max_user_watches': INT_MAX,
  'fs.aio-max-nr': INT_MAX,
  /** The kernel's own maximum. Each computer has its own limit, far below. */
  'kernel.pid_max': 4_194_304,
};

/**
 * Logs one warning that names each setting that is too low and the command that raises them.
 * @param root folder of the kernel's settings
 */
export async function warnOfLowHostLimits(logger: Logger, root = '/proc/sys'): Promise<void> {
  const low: Record<string, number> = {};
  for (const [name, needed] of Object.entries(HOST_LIMITS)) {
    const value = await readFile(`${root}/${name.replaceAll('.', '/')}`, 'utf8').catch(() => undefined);
    if (value !== undefined && Number(value) < needed) low[name] = Number(value);
  }
  const names = Object.keys(low);
  if (names.length === 0) return;
  const command = `sysctl -w ${names.map((name) => `${name}=${HOST_LIMITS[name]}`).join(' ')}`;
  logger.warn(
    { settings: low, command },
    `One computer can use up kernel limits of this host. Run: ${command}`,
  );
}
