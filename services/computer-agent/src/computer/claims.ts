// Assigns containers to computers. Docker's labels cannot change, so a note on disk tells the next agent which
// containers were claimed; it destroys the others: the warm pool. If an agent died between claiming a container and
// giving it files and size, the next agent completes this.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const claim = z.object({
  computerId: z.string(),
  cpu: z.number(),
  memoryMb: z.number(),
});
export type Claim = z.infer<typeof claim>;

export type Claims = Awaited<ReturnType<typeof openClaims>>;

export async function openClaims(directory: string) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const unfinished = '.unfinished';
  const claimed = new Map<string, Claim>();
  for (const slot of await readdir(directory)) {
    if (slot.endsWith(unfinished)) continue;
    const read = await readClaim(join(directory, slot));
    if (read) claimed.set(slot, read);
    else await rm(join(directory, slot)); // a power cut emptied the note, and also ended the container
  }
  return {
    async set(slot: string, content: Claim): Promise<void> {
      claimed.set(slot, content);
      const file = join(directory, slot);
      await writeFile(`${file}${unfinished}`, JSON.stringify(content));
      await rename(`${file}${unfinished}`, file); // atomic
      if (!claimed.has(slot)) await rm(file, { force: true }); // cleared meanwhile
    },
    /** Undefined if the slot was never claimed. */
    get: (slot: string): Claim | undefined => claimed.get(slot),
    has: (slot: string): boolean => claimed.has(slot),
    /** Whether a slot is claimed for the computer. */
    holds: (computerId: string): boolean =>
      [...claimed.values()].some((one) => one.computerId === computerId),
    async clear(slot: string): Promise<void> {
      const had = claimed.get(slot);
      claimed.delete(slot);
      try {
        await rm(join(directory, slot), { force: true });
      } catch (error) {
        if (had) claimed.set(slot, had); // a second call of `clear` must find it
        throw error;
      }
    },
    list: (): string[] => [...claimed.keys()],
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
