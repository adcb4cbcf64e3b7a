// Lists an org's files by creation time. Keys sort by that time, so a page reads only its own records.
import {
  afterOf,
  type FileRecord,
  fileKey,
  limitOf,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  toFileObject,
} from '@switchyard/contracts';
import { type FileOperations, isVisible } from '../files/file-operations.ts';

export function listFiles({ files, clock }: Pick<FileOperations, 'files' | 'clock'>) {
  return async ({ org, query }: OperationRequest<'files.list'>): Promise<OperationResponse<'files.list'>> => {
    const [after, limit] = [afterOf(query), limitOf(query)];
    const newestFirst = query.order !== 'asc';
    const ids = (await files.keys(`${org}.>`)).map((key) => key.slice(org.length + 1)).sort();
    if (newestFirst) ids.reverse();
    const left = after === undefined ? ids : ids.filter((id) => (newestFirst ? id < after : id > after));
    const shown: FileRecord[] = [];
    let taken = 0;
    while (shown.length < limit && taken < left.length) {
      const page = left.slice(taken, taken + limit - shown.length);
      taken += page.length;
      const records = await Promise.all(page.map((id) => files.get(fileKey(org, id))));
      for (const entry of records)
        if (entry && isVisible(entry.value, clock) && isAsked(entry.value, query)) shown.push(entry.value);
    }
    return pageOf(shown.map(toFileObject), taken < left.length, ({ id }) => id);
  };
}

function isAsked({ purpose }: FileRecord, query: OperationRequest<'files.list'>['query']): boolean {
  return query.purpose === undefined || query.purpose === purpose;
}
