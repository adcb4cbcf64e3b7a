// Deleting a file: it is marked, by compare-and-set, and from then on nobody sees it; who marked it clears away what is
// left, and the sweep does where that one died. What it counts against the quota goes last.
import { RevisionConflict } from '@switchyard/bus';
import { type FileRecord, fileKey } from '@switchyard/contracts';
import type { FileOperations } from './file-operations.ts';

type Needs = Pick<FileOperations, 'files' | 'contents' | 'quota' | 'clock'>;

/** Marks the record, as it was at `revision`. False: somebody else did meanwhile, and goes on with it. */
export async function markDeleting(
  { files, clock }: Needs,
  record: FileRecord,
  revision: number,
): Promise<boolean> {
  const deleting_at = new Date(clock.now()).toISOString();
  try {
    await files.update(fileKey(record.org, record.id), { ...record, deleting_at }, revision);
    return true;
  } catch (error) {
    if (error instanceof RevisionConflict) return false;
    throw error;
  }
}

/** For who has marked it, and for nobody else: what it counts must be taken away once. */
export async function clearAway(on: Needs, { org, id, bytes }: FileRecord): Promise<void> {
  await on.quota.leaving(org, id, bytes);
  await finishLeaving(on, org, id);
}

/** May be repeated, by anybody. */
export async function finishLeaving(
  { files, contents, quota }: Needs,
  org: string,
  id: string,
): Promise<void> {
  const key = fileKey(org, id);
  await contents.delete(key);
  await files.delete(key);
  await quota.gone(org, id);
}
