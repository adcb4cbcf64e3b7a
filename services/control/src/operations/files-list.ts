// Lists an org's files by creation time, by which their ids sort. Reads all of its records in one request: a get for
// each would be slower, and a filter may leave out any number.
import {
  afterOf,
  type FileRecord,
  limitOf,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  toFileObject,
} from '@switchyard/contracts';
import { type FileOperations, isVisible } from '../files/file-operations.ts';

export function listFiles({ files, quota, clock }: Pick<FileOperations, 'files' | 'quota' | 'clock'>) {
  return async ({ org, query }: OperationRequest<'files.list'>): Promise<OperationResponse<'files.list'>> => {
    const [after, limit] = [afterOf(query), limitOf(query)];
    const newestFirst = query.order !== 'asc';
    const isAfter = (id: string) => after === undefined || (newestFirst ? id < after : id > after);
    const left = (await files.entries(`${org}.>`))
      .map(({ value }) => value)
      .filter((record) => isAfter(record.id) && isVisible(record, clock) && isAsked(record, query))
      .sort((a, b) => (a.id < b.id === newestFirst ? 1 : -1));
    const page = pageOf(left.slice(0, limit).map(toFileObject), left.length > limit, ({ id }) => id);
    return { ...page, storage: await quota.storage(org) };
  };
}

function isAsked({ purpose }: FileRecord, query: OperationRequest<'files.list'>['query']): boolean {
  return query.purpose === undefined || query.purpose === purpose;
}
