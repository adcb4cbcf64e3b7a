// What the operations on stored files work with, and how one is found.
import type { Bucket, Bus, Entry, ObjectStore } from '@switchyard/bus';
import { type FileRecord, fileKey, ID_PATTERN, ServiceError } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { Quota } from './quota.ts';

export interface FileOperations {
  readonly bus: Bus;
  readonly files: Bucket<FileRecord>;
  readonly contents: ObjectStore;
  readonly quota: Quota;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @throws ServiceError `file_not_found`: never was, was deleted, or is another org's. */
export async function findFile(
  files: Bucket<FileRecord>,
  org: string,
  id: string,
): Promise<Entry<FileRecord>> {
  // What is no id cannot be a key of the bucket either, and may stand for several of them.
  const entry = ID_PATTERN.test(id) ? await files.get(fileKey(org, id)) : null;
  if (!entry || entry.value.deleting_at !== undefined) throw fileNotFound(id);
  return entry;
}

export function fileNotFound(id: string): ServiceError {
  return new ServiceError('file_not_found', `there is no file ${id.slice(0, 200)}`, { param: 'id' });
}
