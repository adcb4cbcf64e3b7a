// Stores a file as it arrives: quota, content, record, in this order. The file is not visible before its record exists.
// A failure undoes the earlier steps; after a crash of this process the sweep does.
import type { CallHandler } from '@switchyard/bus';
import {
  type FileRecord,
  type FileStoreHead,
  fileKey,
  fileStoreHead,
  toFileObject,
} from '@switchyard/contracts';
import { deleteFile } from '../files/deletion.ts';
import { newFileId } from '../files/file-id.ts';
import type { FileOperations } from '../files/file-operations.ts';
import { MeteredUpload } from '../files/metered-upload.ts';
import { UploadBody } from '../files/upload-body.ts';

export function storeFile(deps: FileOperations): CallHandler {
  return async (call) => {
    const head = fileStoreHead.parse(call.head);
    const record = await receive(deps, head, new UploadBody(call.body()));
    if (!call.isCancelled) return call.end(toFileObject(record));
    // The caller left before it received the id, so the file would only use up quota.
    await deleteFile(deps, head.org, record.id);
  };
}

async function receive(deps: FileOperations, head: FileStoreHead, body: UploadBody): Promise<FileRecord> {
  const now = deps.clock.now();
  const id = newFileId(now);
  const attempt: Attempt = { org: head.org, id, recorded: false };
  const record = await store(deps, attempt, { head, now, body }).catch(async (error: unknown) => {
    await giveUp(deps, attempt).catch((cause: unknown) => warn(deps, cause, id));
    throw error;
  });
  // The file is stored. If this fails, it counts as arriving until the sweep corrects the entry.
  await deps.quota.arrived(head.org, id, record.bytes).catch((error: unknown) => warn(deps, error, id));
  return record;
}

interface Attempt {
  readonly org: string;
  readonly id: string;
  /** Whether the record may exist. */
  recorded: boolean;
}

async function store(
  { quota, contents, files, clock }: FileOperations,
  attempt: Attempt,
  { head, now, body }: { head: FileStoreHead; now: number; body: UploadBody },
): Promise<FileRecord> {
  const { org, id } = attempt;
  const { filename, media_type, bytes_min: bytesMin } = head;
  const upload = new MeteredUpload({ quota, org, id, bytesMin, clock });
  const key = fileKey(org, id);
  await upload.begin();
  const { bytes, sha256 } = await contents.put(key, upload.take(body.content()));
  await upload.whole();
  const { purpose, expires_after_seconds: seconds } = body.trailer();
  const record: FileRecord = {
    id,
    org,
    filename,
    purpose,
    media_type,
    bytes,
    sha256,
    created_at: new Date(now).toISOString(),
    ...(seconds === null ? {} : { expires_at: new Date(now + seconds * 1_000).toISOString() }),
  };
  attempt.recorded = true;
  await files.create(key, record);
  return record;
}

/** Removes the record first, since it may exist although its write failed, and releases the quota last. */
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
