// A file system of fixed size in a sparse file of the host: whoever writes into it can fill it, bytes and inodes, and no other.
import { mkdir, open, rmdir } from 'node:fs/promises';
import { runProgram } from '../docker/host-programs.ts';
import { mountCommand, mountPoints, sourceOfMount, unmount } from '../docker/mounts.ts';

const FORMAT_TIMEOUT_MS = 30_000;
const LOOP_TIMEOUT_MS = 10_000;
/** What the file system needs for itself is less than a GiB has over a GB: so many GB are there to be written. */
const BYTES_PER_GB = 1024 ** 3;
/** Nothing is kept back for root, who is the renter here; nothing is written that a sparse file is already: zeros. */
const FORMAT_OPTIONS = ['-q', '-F', '-m', '0', '-E', 'lazy_itable_init=1,lazy_journal_init=1,nodiscard'];
/** What does not outlive its container needs no journal. */
const DISPOSABLE_OPTIONS = ['-O', '^has_journal'];
/** `discard`: what is deleted inside is given back to the host. */
const MOUNT_OPTIONS = 'loop,nodev,nosuid,noatime,discard,noinit_itable';

export interface FormatOptions {
  /** A crash of the host may take all that is on it. */
  readonly disposable?: boolean;
}

/** Makes an empty file system in a file. */
export async function formatDisk(
  image: string,
  diskGb: number,
  { disposable = false }: FormatOptions = {},
): Promise<void> {
  const file = await open(image, 'w', 0o600);
  try {
    await file.truncate(Math.floor(diskGb * BYTES_PER_GB));
  } finally {
    await file.close();
  }
  const options = [...FORMAT_OPTIONS, ...(disposable ? DISPOSABLE_OPTIONS : [])];
  await runProgram('mkfs.ext4', [...options, image], { timeout: FORMAT_TIMEOUT_MS });
}

/** Makes the mount point, too. */
export async function mountDisk(image: string, at: string): Promise<void> {
  await mkdir(at, { recursive: true, mode: 0o700 });
  await mountCommand('mount', '-o', MOUNT_OPTIONS, image, at);
  await bypassHostCache(at);
}

/**
 * What is written inside waits in the computer's own page cache. A second one, of the file that the disk is in, costs the
 * host memory and time: with it 1 GB took 5.7 s, and 6.3 s of its processors; without, 1.0 and 0.5. A file system that
 * cannot do without (tmpfs) keeps it.
 */
async function bypassHostCache(at: string): Promise<void> {
  const device = await sourceOfMount(at);
  if (device === undefined) return;
  await runProgram('losetup', ['--direct-io=on', device], { timeout: LOOP_TIMEOUT_MS }).catch(() => {});
}

/** Unmounts and removes the mount point. Nothing happens if neither is there. */
export async function unmountDisk(at: string): Promise<void> {
  if ((await mountPoints()).includes(at)) await unmount(at);
  await rmdir(at).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
