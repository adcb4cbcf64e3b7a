// Disk space that a workspace uses: taken from its own file system if it has one, otherwise counted file by file,
// rarely and for a limited time.
import { execFile } from 'node:child_process';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ComputerMetrics } from '@switchyard/contracts';

export type DiskUse = ComputerMetrics['disk'];

/** How long a count stays valid. */
const COUNT_AGE_MS_MAX = 30_000;
/** Counting a workspace of very many files stops after this time. */
const COUNT_MS_MAX = 2_000;

export class WorkspaceMeter {
  readonly #countMsMax: number;
  #counted: { readonly at: number; readonly use: Promise<DiskUse> } | null = null;

  constructor(countMsMax = COUNT_MS_MAX) {
    this.#countMsMax = countMsMax;
  }

  async measure(workspace: string, now: Date): Promise<DiskUse> {
    const own = await ownFileSystem(workspace);
    if (own) return { ...own, measured_at: now.toISOString() };
    if (!this.#counted || now.getTime() - this.#counted.at >= COUNT_AGE_MS_MAX)
      this.#counted = { at: now.getTime(), use: count(workspace, now, this.#countMsMax) };
    return this.#counted.use;
  }
}

/** A workspace on a disk is a folder of that disk (disks.ts): its grandparent is on another file system. */
async function ownFileSystem(workspace: string): Promise<Omit<DiskUse, 'measured_at'> | null> {
  const around = dirname(dirname(workspace));
  const [its, parents] = await Promise.all([stat(workspace), stat(around)]);
  if (its.dev === parents.dev) return null;
  const { blocks, bfree, bsize } = await statfs(workspace);
  return { workspace_bytes: (blocks - bfree) * bsize, workspace_bytes_max: blocks * bsize };
}

/** Uses the program du at the lowest CPU priority. */
function count(workspace: string, now: Date, timeoutMs: number): Promise<DiskUse> {
  const args = ['-n', '19', 'du', '-s', '-x', '-B1', '--', workspace];
  return new Promise((resolve) => {
    // du fails if a file vanishes meanwhile, but still prints a total.
    execFile('nice', args, { timeout: timeoutMs }, (_error, output) => {
      const bytes = Number.parseInt(output, 10);
      resolve({
        workspace_bytes: Number.isFinite(bytes) ? bytes : null,
        workspace_bytes_max: null,
        measured_at: now.toISOString(),
      });
    });
  });
}
