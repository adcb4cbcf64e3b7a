// Streams a file's bytes at the reader's pace. Deleting the file midway fails the stream, so a partial file never looks
// whole.
import type { CallHandler } from '@switchyard/bus';
import { fileContentHead, toFileObject } from '@switchyard/contracts';
import { fileContent } from '../files/file-content.ts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

export function sendFile(deps: Pick<FileOperations, 'files' | 'contents' | 'clock'>): CallHandler {
  return async (call) => {
    const { org, id, range } = fileContentHead.parse(call.head);
    const { value: record } = await findFile(deps, org, id);
    call.setHead(toFileObject(record));
    for await (const piece of fileContent(deps, record, range)) {
      if (!call.write(piece)) await call.drained();
      if (call.isCancelled) return;
    }
    call.end(null);
  };
}
