// Which containers are whose: those that left the warm pool, and those that get their files when they have started. Docker's labels cannot change, so a note on disk tells the next
// agent a pooled container (to be destroyed) from one that was claimed; and where an agent died between claiming one
// and giving it its files and size, the next one gives them. What has them needs no question to the engine.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const claim = z.object({
  computerId: z.string(),
  cpu: z.number(),
  memoryMb: z.number(),
  /** Of its init, as this host numbers processes; there once it has its computer's files and size. */
  pid: z.number().optional(),
});
export type Claim = z.infer<typeof claim>;

export interface Claims {
  set(slot: string, claim: Claim): Promise<void>;
  /** Undefined if the slot was never claimed: its container was made for its computer from the start. */
  get(slot: string): Claim | undefined;
  has(slot: string): boolean;
  /** Whether a slot is claimed for the computer. */
  holds(computerId: string): boolean;
  clear(slot: string): Promise<void>;
  list(): string[];
}

export async function openClaims(directory: string): Promise<Claims> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const unfinished = '.unfinished';
  const claimed = new Map<string, Claim>();
  for (const slot of await readdir(directory)) {
    if (slot.endsWith(unfinished)) continue;
    const read = await readClaim(join(directory, slot));
    if (read) claimed.set(slot, read);
    else await rm(join(directory, slot)); // a power cut took what was in it, and the container with it
  }
  return {
    async set(slot, content) {
      claimed.set(slot, content);
      const file = join(directory, slot);
      await writeFile(`${file}${unfinished}`, JSON.stringify(content));
      await rename(`${file}${unfinished}`, file); // there as a whole, or not at all
      if (!claimed.has(slot)) await rm(file, { force: true }); // cleared meanwhile
    },
    get: (slot) => claimed.get(slot),
    has: (slot) => claimed.has(slot),
    holds: (computerId) => [...claimed.values()].some((one) => one.computerId === computerId),
    async clear(slot) {
      const had = claimed.get(slot);
      claimed.delete(slot);
      try {
        await rm(join(directory, slot), { force: true });
      } catch (error) {
        if (had) claimed.set(slot, had); // whoever clears it again must find it
        throw error;
      }
    },
    list: () => [...claimed.keys()],
  };
}

async function readClaim(file: string): Promise<Claim | undefined> {
  const text = await readFile(file, 'utf8');
  try {
    return claim.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
