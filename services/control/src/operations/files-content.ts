// Sends a file's bytes at its reader's pace. One that is deleted meanwhile breaks off: never a short file that looks whole.
import type { CallHandler } from '@switchyard/bus';
import { fileContentHead, toFileObject } from '@switchyard/contracts';
import { fileContent } from '../files/file-content.ts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

export function sendFile(on: Pick<FileOperations, 'files' | 'contents'>): CallHandler {
  return async (call) => {
    const { org, id, range } = fileContentHead.parse(call.head);
    const { value: record } = await findFile(on.files, org, id);
    call.setHead(toFileObject(record));
    for await (const piece of fileContent(on, record, range)) {
      if (!call.write(piece)) await call.drained();
      if (call.isCancelled) return;
    }
    call.end(null);
  };
}
