// Whether the host's disks have room for another computer. Disks are sparse and container layers unlimited, so the
// promised size says nothing; the free space is read with each heartbeat.
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { BYTES_PER_MB } from '../docker/container-config.ts';

const MB_PER_GB = 1024;
/** An image of a million small files must not use them up. */
const INODES_FREE_MIN = 100_000;

/** @param folders on the disks to check; folders that this process cannot see are ignored */
export async function openDiskRoom(folders: readonly string[], freeGbMin: number): Promise<DiskRoom> {
  const seen = folders.filter((folder) => existsSync(folder));
  const room = new DiskRoom(seen, Math.ceil(freeGbMin * MB_PER_GB));
  await room.measure();
  return room;
}

export class DiskRoom {
  /** MiB reserved, not available to new computers. */
  readonly freeMbMin: number;
  readonly #folders: readonly string[];
  #freeMb: number | null = null;

  constructor(folders: readonly string[], freeMbMin: number) {
    this.#folders = folders;
    this.freeMbMin = freeMbMin;
  }

  /** MiB free on the fullest disk when last checked; null if unknown. */
  get freeMb(): number | null {
    return this.#freeMb;
  }

  get enough(): boolean {
    return this.#freeMb === null || this.#freeMb >= this.freeMbMin;
  }

  async measure(): Promise<void> {
    const free = await Promise.all(this.#folders.map(freeMbOf)).catch(() => []);
    this.#freeMb = free.length === 0 ? null : Math.min(...free);
  }
}

/** 0 when hardly any file can be made. File systems without a fixed number of inodes state 0 of 0. */
async function freeMbOf(folder: string): Promise<number> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  if (files > 0 && ffree < INODES_FREE_MIN) return 0;
  return Math.floor((bavail * bsize) / BYTES_PER_MB);
}
