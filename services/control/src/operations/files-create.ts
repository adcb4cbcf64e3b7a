// Stores a file as it comes: quota, content, record, in this order. The record is made when the content is whole; before
// that nobody sees anything of it. Whatever goes wrong on the way takes back what was done, and a crash of this process
// leaves that to the sweep.
import type { CallHandler } from '@switchyard/bus';
import {
  FILE_BYTES_MAX,
  type FileRecord,
  type FileStoreHead,
  fileKey,
  fileStoreHead,
  toFileObject,
} from '@switchyard/contracts';
import { newFileId } from '../files/file-id.ts';
import type { FileOperations } from '../files/file-operations.ts';
import { MeteredUpload } from '../files/metered-upload.ts';
import { deleteFile } from './files-delete.ts';

export function storeFile(on: FileOperations): CallHandler {
  return async (call) => {
    const head = fileStoreHead.parse(call.head);
    const record = await receive(on, head, call.body());
    if (!call.isCancelled) return call.end(toFileObject(record));
    // Nobody heard its id: a file that nobody knows of would be paid for with the quota.
    await deleteFile(on)({ org: head.org, key_id: head.key_id, id: record.id });
  };
}

async function receive(
  on: FileOperations,
  head: FileStoreHead,
  content: AsyncIterable<Buffer>,
): Promise<FileRecord> {
  const now = on.clock.now();
  const id = newFileId(now);
  const attempt: Attempt = { org: head.org, id, recorded: false };
  const record = await store(on, attempt, { head, now, content }).catch(async (error: unknown) => {
    await giveUp(on, attempt).catch((cause: unknown) => warn(on, cause, id));
    throw error;
  });
  // The file is there. If this fails, it counts as arriving until the sweep sets it right.
  await on.quota.arrived(head.org, id, record.bytes).catch((error: unknown) => warn(on, error, id));
  return record;
}

interface Attempt {
  readonly org: string;
  readonly id: string;
  /** The record may have been made. */
  recorded: boolean;
}

async function store(
  { quota, contents, files, clock }: FileOperations,
  attempt: Attempt,
  { head, now, content }: { head: FileStoreHead; now: number; content: AsyncIterable<Buffer> },
): Promise<FileRecord> {
  const { org, id } = attempt;
  const { filename, media_type, bytes_min: bytesMin } = head;
  const upload = new MeteredUpload({ quota, org, id, bytesMin, clock });
  const key = fileKey(org, id);
  await upload.begin();
  const { bytes, sha256 } = await contents.put(key, upload.take(content), { bytesMax: FILE_BYTES_MAX });
  await upload.whole();
  const created_at = new Date(now).toISOString();
  const record: FileRecord = { id, org, filename, media_type, bytes, sha256, created_at };
  attempt.recorded = true;
  await files.create(key, record);
  return record;
}

/** In this order: a record that was made in spite of a lost answer goes first, and what counts goes last. */
async function giveUp(
  { files, contents, quota }: FileOperations,
  { org, id, recorded }: Attempt,
): Promise<void> {
  if (recorded) await files.delete(fileKey(org, id));
  await contents.delete(fileKey(org, id));
  await quota.release(org, id);
}

function warn({ logger }: FileOperations, error: unknown, file: string): void {
  logger.warn({ err: error, file }, 'an upload was not settled; the sweep does it');
}
