// A stored file's bytes, fetched as they are read.
import { type ByteRange, ObjectGone } from '@switchyard/bus';
import { type FileRecord, fileKey } from '@switchyard/contracts';
import { type FileOperations, fileNotFound } from './file-operations.ts';

/**
 * The content, or a part of it; nothing is fetched before it is read.
 * @throws ServiceError `file_not_found`, in the middle too, when the file is deleted meanwhile.
 */
export async function* fileContent(
  { contents }: Pick<FileOperations, 'contents'>,
  { org, id }: FileRecord,
  range?: ByteRange,
): AsyncGenerator<Buffer, void, undefined> {
  const object = await contents.get(fileKey(org, id), range);
  if (!object) throw fileNotFound(id);
  try {
    yield* object.body;
  } catch (error) {
    throw error instanceof ObjectGone ? fileNotFound(id) : error;
  }
}
