// When this host was last heard on the bus, kept as the modification time of a file. A restarted agent needs the
// length of the unmetered interval. Written every second, so it costs one system call.
import { stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type LastHeard = Awaited<ReturnType<typeof openLastHeard>>;

export async function openLastHeard(folder: string, now: number) {
  const path = join(folder, 'last-heard');
  const before = await stat(path).then(
    (file) => Math.round(file.mtimeMs),
    () => null,
  );
  if (before === null) await writeFile(path, '');
  return {
    /** As an earlier agent left it, milliseconds since the epoch; the current time if there was none. */
    before: before ?? now,
    /** The host was heard just now. */
    write: (at: number) => utimes(path, at / 1000, at / 1000),
  };
}
