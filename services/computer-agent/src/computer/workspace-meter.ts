// How much disk a workspace takes: of a file system of its own what that says, else counted file by file, seldom and not
// for long.
import { execFile } from 'node:child_process';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ComputerMetrics } from '@switchyard/contracts';

export type DiskUse = ComputerMetrics['disk'];

/** A count is good for this long. */
const COUNT_AGE_MS_MAX = 30_000;
/** A workspace of very many files is not counted to the end. */
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

/** A disk has the workspace as a folder in it (disks.ts): what is around that is of another file system then. */
async function ownFileSystem(workspace: string): Promise<Omit<DiskUse, 'measured_at'> | null> {
  const around = dirname(dirname(workspace));
  const [its, parents] = await Promise.all([stat(workspace), stat(around)]);
  if (its.dev === parents.dev) return null;
  const { blocks, bfree, bsize } = await statfs(workspace);
  return { workspace_bytes: (blocks - bfree) * bsize, workspace_bytes_max: blocks * bsize };
}

/** By the program du, as the last in line for the processor. */
function count(workspace: string, now: Date, timeoutMs: number): Promise<DiskUse> {
  const args = ['-n', '19', 'du', '-s', '-x', '-B1', '--', workspace];
  return new Promise((resolve) => {
    // It fails where a file goes meanwhile, and has counted all the same.
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
