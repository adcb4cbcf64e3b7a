// Whether the host's disks have room for one more computer. Disks of computers are sparse and layers of containers have no
// limit, so what is promised says nothing here: what is free is looked at with each heartbeat.
import { access, statfs } from 'node:fs/promises';

const BYTES_PER_MB = 1024 * 1024;
const MB_PER_GB = 1024;

/** @param folders on the disks in question; those that this process cannot see are left out */
export async function openDiskRoom(folders: readonly string[], freeGbMin: number): Promise<DiskRoom> {
  const seen: string[] = [];
  for (const folder of folders)
    await access(folder).then(
      () => seen.push(folder),
      () => {}, // the engine's own, seen from a container
    );
  const room = new DiskRoom(seen, Math.ceil(freeGbMin * MB_PER_GB));
  await room.measure();
  return room;
}

export class DiskRoom {
  /** MiB that are not for new computers. */
  readonly freeMbMin: number;
  readonly #folders: readonly string[];
  #freeMb: number | null = null;

  constructor(folders: readonly string[], freeMbMin: number) {
    this.#folders = folders;
    this.freeMbMin = freeMbMin;
  }

  /** MiB free on the fullest of the disks when it was last looked at; null where that cannot be told. */
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

async function freeMbOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return Math.floor((bavail * bsize) / BYTES_PER_MB);
}
