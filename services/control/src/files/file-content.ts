// Streams the bytes of a stored file as they are read.
import { type ByteRange, ObjectGone } from '@switchyard/bus';
import { type FileRecord, fileKey } from '@switchyard/contracts';
import { type FileOperations, fileNotFound } from './file-operations.ts';

/**
 * Yields the content, or a range of it. Nothing is fetched before the first read.
 * @throws ServiceError `file_not_found`, also midway when the file is deleted during the read.
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
