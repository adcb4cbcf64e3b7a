// Which containers left the warm pool. Docker's labels cannot change, so a mark on disk tells the next agent a pooled
// container (to be destroyed) from one that was claimed (a computer's, or the reconciler's to judge).
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Claims {
  mark(slot: string): Promise<void>;
  clear(slot: string): Promise<void>;
  has(slot: string): boolean;
  list(): string[];
}

export async function openClaims(directory: string): Promise<Claims> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const marked = new Set(await readdir(directory));
  return {
    async mark(slot) {
      marked.add(slot);
      await writeFile(join(directory, slot), '');
    },
    async clear(slot) {
      await rm(join(directory, slot), { force: true });
      marked.delete(slot);
    },
    has: (slot) => marked.has(slot),
    list: () => [...marked],
  };
}
