// Streams the bytes of a stored file as they are read.
import { ObjectGone } from '@switchyard/bus';
import { type ContentPart, type FileRecord, fileKey } from '@switchyard/contracts';
import { type FileOperations, fileNotFound } from './file-operations.ts';

/**
 * Yields the content, or a range of it. Nothing is fetched before the first read.
 * @throws ServiceError `file_not_found`, also midway when the file is deleted during the read.
 */
export async function* fileContent(
  { contents }: Pick<FileOperations, 'contents'>,
  { org, id }: FileRecord,
  range?: ContentPart,
): AsyncGenerator<Buffer, void, undefined> {
  const content = await contents.get(fileKey(org, id), range);
  if (!content) throw fileNotFound(id);
  try {
    yield* content;
  } catch (error) {
    throw error instanceof ObjectGone ? fileNotFound(id) : error;
  }
}
