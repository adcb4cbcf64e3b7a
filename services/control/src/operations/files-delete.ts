import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { clearAway, markDeleting } from '../files/deletion.ts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

/** Deletes a file for good. From the mark on it is gone for its owner; what is left to do then cannot fail the answer. */
export function deleteFile(on: FileOperations) {
  return async ({
    org,
    id,
  }: OperationRequest<'files.delete'>): Promise<OperationResponse<'files.delete'>> => {
    const { value: record, revision } = await findFile(on.files, org, id);
    if (await markDeleting(on, record, revision))
      await clearAway(on, record).catch((error: unknown) =>
        on.logger.warn({ err: error, file: id }, 'a deleted file was not cleared away; the sweep does it'),
      );
    return { id, object: 'file', deleted: true };
  };
}
