// When this host was last heard on the bus, kept as the time of a file: an agent that starts again must know for how
// long nobody metered. Written each second, so it costs one system call.
import { stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface LastHeard {
  /** As an earlier agent left it, milliseconds since the epoch; now, where there was none. */
  readonly before: number;
  /** The host was heard just now. */
  write(now: number): Promise<void>;
}

export async function openLastHeard(folder: string, now: number): Promise<LastHeard> {
  const path = join(folder, 'last-heard');
  const before = await stat(path).then(
    (file) => Math.round(file.mtimeMs),
    () => null,
  );
  if (before === null) await writeFile(path, '');
  return {
    before: before ?? now,
    write: (at) => utimes(path, at / 1000, at / 1000),
  };
}
