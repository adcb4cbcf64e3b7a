// What the kernel counts for the whole host, or by user, and one computer could use up for all: root in a computer is the same
// user to it as root of the host. Each thing is made of kernel memory that its computer is charged for, so that the memory
// limit bounds it (cgroups, all of these with `ACCOUNT` in the kernel's source): the host's own number may be out of the way.
import { readFile, writeFile } from 'node:fs/promises';
import type { HostLogger } from '../computer/logger.ts';

/** Fits where the kernel has an int. */
const OUT_OF_THE_WAY = 2 ** 31 - 1;

const NEEDED = {
  /** Open files of the host. */
  'fs/file-max': OUT_OF_THE_WAY,
  /** By user: with none left, every event loop of the host stops taking connections. */
  'fs/epoll/max_user_watches': OUT_OF_THE_WAY,
  'fs/inotify/max_user_instances': OUT_OF_THE_WAY,
  'fs/inotify/max_user_watches': OUT_OF_THE_WAY,
  'fs/aio-max-nr': OUT_OF_THE_WAY,
  /** Processes of the host: the kernel's own maximum. Each computer has its own limit, far below. */
  'kernel/pid_max': 4_194_304,
} as const;

/**
 * Raises what is lower, and lowers nothing. Says which of them could not be raised.
 * @param root of the kernel's settings
 */
export async function raiseHostLimits(logger: HostLogger, root = '/proc/sys'): Promise<void> {
  const kept: string[] = [];
  for (const [name, needed] of Object.entries(NEEDED)) {
    try {
      const path = `${root}/${name}`;
      if (Number(await readFile(path, 'utf8')) < needed) await writeFile(path, String(needed));
    } catch {
      kept.push(name.replaceAll('/', '.'));
    }
  }
  if (kept.length > 0)
    logger.warn(
      { settings: kept },
      'limits of this host that one computer can use up for all stay as they are',
    );
}
