// Which containers left the warm pool, and for whom. Docker's labels cannot change, so a note on disk tells the next
// agent a pooled container (to be destroyed) from one that was claimed; and where an agent died between claiming one
// and giving it its files and size, the next one gives them.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const claim = z.object({ computerId: z.string(), cpu: z.number(), memoryMb: z.number() });
export type Claim = z.infer<typeof claim>;

export interface Claims {
  set(slot: string, claim: Claim): Promise<void>;
  /** Undefined if the slot was never claimed: its container was made for its computer from the start. */
  get(slot: string): Promise<Claim | undefined>;
  has(slot: string): boolean;
  clear(slot: string): Promise<void>;
  list(): string[];
}

export async function openClaims(directory: string): Promise<Claims> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const unfinished = '.unfinished';
  const claimed = new Set((await readdir(directory)).filter((name) => !name.endsWith(unfinished)));
  return {
    async set(slot, content) {
      claimed.add(slot);
      const file = join(directory, slot);
      await writeFile(`${file}${unfinished}`, JSON.stringify(content));
      await rename(`${file}${unfinished}`, file); // there as a whole, or not at all
    },
    async get(slot) {
      if (!claimed.has(slot)) return undefined;
      return claim.parse(JSON.parse(await readFile(join(directory, slot), 'utf8')));
    },
    has: (slot) => claimed.has(slot),
    async clear(slot) {
      await rm(join(directory, slot), { force: true });
      claimed.delete(slot);
    },
    list: () => [...claimed],
  };
}
