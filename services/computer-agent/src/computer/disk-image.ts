// A file system of fixed size in a sparse file of the host. Writing into it can exhaust only its own bytes and
// inodes.
import { mkdir, open, rmdir } from 'node:fs/promises';
import { runProgram } from '../docker/host-programs.ts';
import { mountCommand, mountPoints, sourceOfMount, unmount } from '../docker/mounts.ts';

const FORMAT_TIMEOUT_MS = 30_000;
const LOOP_TIMEOUT_MS = 30_000;
/** A GiB exceeds a GB by more than the file system's own needs, so the promised GB are usable. */
const BYTES_PER_GB = 1024 ** 3;
/** Root is the renter, so no blocks are reserved for root. Zeros are not written: a sparse file reads as zeros. */
const FORMAT_OPTIONS = ['-q', '-F', '-m', '0', '-E', 'lazy_itable_init=1,lazy_journal_init=1,nodiscard'];
/** A disk that does not outlive its container needs no journal. */
const DISPOSABLE_OPTIONS = ['-O', '^has_journal'];
/** `discard` returns the space of deleted files to the host. */
const MOUNT_OPTIONS = 'loop,nodev,nosuid,noatime,discard,noinit_itable';

interface FormatOptions {
  /** The content may be lost when the host crashes. */
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

/** Also creates the mount point. */
export async function mountDisk(image: string, at: string): Promise<void> {
  await mkdir(at, { recursive: true, mode: 0o700 });
  await mountCommand('mount', '-o', MOUNT_OPTIONS, image, at);
  await bypassHostCache(at);
}

/**
 * Data written inside is cached in the computer's page cache. A second cache for the image file costs time and
 * memory: 1 GB took 5.7 s, and 6.3 s of the host's processors; without it 1.0 and 0.5. A file system without direct
 * I/O (tmpfs) keeps it.
 */
async function bypassHostCache(at: string): Promise<void> {
  const device = await sourceOfMount(at);
  if (device === undefined) return;
  await runProgram('losetup', ['--direct-io=on', device], { timeout: LOOP_TIMEOUT_MS }).catch(() => {});
}

/** Unmounts and removes the mount point. Does nothing if neither exists. */
export async function unmountDisk(at: string): Promise<void> {
  if ((await mountPoints()).includes(at)) await unmount(at);
  await rmdir(at).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
