import { type OperationRequest, type OperationResponse, toFileObject } from '@switchyard/contracts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

export function getFile({ files }: Pick<FileOperations, 'files'>) {
  return async ({ org, id }: OperationRequest<'files.get'>): Promise<OperationResponse<'files.get'>> =>
    toFileObject((await findFile(files, org, id)).value);
}
