// Dependencies that the operations on stored files share, and the lookup of a file.
import type { Bucket, Entry, ObjectStore } from '@switchyard/bus';
import { type FileRecord, fileKey, ServiceError } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { Quota } from './quota.ts';

export interface FileOperations {
  readonly files: Bucket<FileRecord>;
  readonly contents: ObjectStore;
  readonly quota: Quota;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * @param param the member of the request that names the file
 * @throws ServiceError `file_not_found`: unknown, deleted, expired, or owned by another org.
 */
export async function findFile(
  { files, clock }: Pick<FileOperations, 'files' | 'clock'>,
  org: string,
  id: string,
  param = 'id',
): Promise<Entry<FileRecord>> {
  const entry = await files.get(fileKey(org, id));
  if (!entry || !isVisible(entry.value, clock)) throw fileNotFound(id, param);
  return entry;
}

/** Whether a record is a file for its owner: not deleted and not expired. */
export function isVisible({ deleting_at, expires_at }: FileRecord, clock: Clock): boolean {
  return deleting_at === undefined && (expires_at === undefined || Date.parse(expires_at) > clock.now());
}

export function fileNotFound(id: string, param = 'id'): ServiceError {
  return new ServiceError(
    'file_not_found',
    `File not found: ${id.slice(0, 200)}. GET /v1/files lists your files.`,
    { param },
  );
}
