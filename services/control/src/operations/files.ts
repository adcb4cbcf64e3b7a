// Operations on stored files; files-create.ts stores one.
import type { CallHandler, Handlers } from '@switchyard/bus';
import { afterOf, fileContentHead, limitOf, pageOf, toFileObject } from '@switchyard/contracts';
import { deleteFile } from '../files/deletion.ts';
import { fileContent } from '../files/file-content.ts';
import { type FileOperations, findFile, isVisible } from '../files/file-operations.ts';

export function fileHandlers(deps: FileOperations) {
  const { files, quota, clock } = deps;
  return {
    /**
     * Lists an org's files by creation time, by which their ids sort. Reads all of its records in one request: a get for
     * each would be slower, and a filter may leave out any number.
     */
    'files.list': async ({ org, query }) => {
      const [after, limit] = [afterOf(query), limitOf(query)];
      const newestFirst = query.order !== 'asc';
      const isAfter = (id: string) => after === undefined || (newestFirst ? id < after : id > after);
      const left = (await files.entries(`${org}.>`))
        .map(({ value }) => value)
        .filter(({ purpose }) => query.purpose === undefined || query.purpose === purpose)
        .filter((record) => isAfter(record.id) && isVisible(record, clock))
        .sort((a, b) => (a.id < b.id === newestFirst ? 1 : -1));
      const page = pageOf(left.slice(0, limit).map(toFileObject), left.length > limit, ({ id }) => id);
      return { ...page, storage: await quota.storage(org) };
    },

    'files.get': async ({ org, id }) => toFileObject((await findFile(deps, org, id)).value),

    'files.delete': async ({ org, id }) => {
      await deleteFile(deps, org, id);
      return { id, object: 'file', deleted: true };
    },
  } satisfies Handlers;
}

/**
 * Streams a file's bytes at the reader's pace. Deleting the file midway fails the stream, so a partial file never looks
 * whole.
 */
export function sendFile(deps: Pick<FileOperations, 'files' | 'contents' | 'clock'>): CallHandler {
  return async (call) => {
    const { org, id, range } = fileContentHead.parse(call.head);
    const { value: record } = await findFile(deps, org, id);
    call.setHead(toFileObject(record));
    await call.send(fileContent(deps, record, range));
  };
}
