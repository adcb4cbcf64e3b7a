import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { clearAway, markDeleting } from '../files/deletion.ts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

/**
 * Deletes a file permanently. Once the mark is set, the file is gone for its owner; later failures do not fail the
 * call.
 */
export function deleteFile(deps: FileOperations) {
  return async ({
    org,
    id,
  }: OperationRequest<'files.delete'>): Promise<OperationResponse<'files.delete'>> => {
    const { value: record, revision } = await findFile(deps, org, id);
    if (await markDeleting(deps, record, revision))
      await clearAway(deps, record).catch((error: unknown) =>
        deps.logger.warn({ err: error, file: id }, 'a deleted file was not cleared away; the sweep does it'),
      );
    return { id, object: 'file', deleted: true };
  };
}
