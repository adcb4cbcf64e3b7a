// Deletes a file. A compare-and-set marks the record, and from then on the file is not visible. The process that set
// the mark removes content and record; the sweep does it if that process dies. The quota is released last.
import { RevisionConflict } from '@switchyard/bus';
import { type FileRecord, fileKey } from '@switchyard/contracts';
import { type FileOperations, findFile } from './file-operations.ts';

type Needs = Pick<FileOperations, 'files' | 'contents' | 'quota' | 'clock'>;

/**
 * Deletes a file permanently. Once the mark is set, the file is gone for its owner; later failures do not fail the
 * call.
 * @throws ServiceError `file_not_found`
 */
export async function deleteFile(deps: FileOperations, org: string, id: string): Promise<void> {
  const { value: record, revision } = await findFile(deps, org, id);
  if (!(await markDeleting(deps, record, revision))) return;
  await clearAway(deps, record).catch((error: unknown) =>
    deps.logger.warn({ err: error, file: id }, 'a deleted file was not removed; the sweep does it'),
  );
}

/** Marks the record at `revision`. Returns false when another process marked it first and continues the deletion. */
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

/** Only for the process that set the mark: the quota must be reduced exactly once. */
export async function clearAway(deps: Needs, { org, id, bytes }: FileRecord): Promise<void> {
  await deps.quota.leaving(org, id, bytes);
  await finishLeaving(deps, org, id);
}

/** Idempotent; any process may call it. */
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
