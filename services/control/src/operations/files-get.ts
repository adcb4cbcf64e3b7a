import { type OperationRequest, type OperationResponse, toFileObject } from '@switchyard/contracts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

export function getFile(deps: Pick<FileOperations, 'files' | 'clock'>) {
  return async ({ org, id }: OperationRequest<'files.get'>): Promise<OperationResponse<'files.get'>> =>
    toFileObject((await findFile(deps, org, id)).value);
}
