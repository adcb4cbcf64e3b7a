// Files on their way into a workspace, kept outside of it on the same file system, so that programs in the computer
// see only complete files. The next agent removes incomplete files of a dead one.
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';

export interface ReceivedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

interface StagedFile extends ReceivedFile {
  readonly path: string;
  /** Deletes the file, unless it was moved to its place. */
  discard(): Promise<void>;
}

/** What is known about a file before it arrives. */
export interface Expected {
  readonly bytes?: number | undefined;
  /** Hex. */
  readonly sha256?: string | undefined;
}

export type Staging = Awaited<ReturnType<typeof openStaging>>;

export async function openStaging(directory: string) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of await readdir(directory))
    await rm(join(directory, name), { recursive: true, force: true });
  return {
    /**
     * Writes the bytes of the source to a file.
     * @throws ServiceError `computer_failed` if size or digest differ from what was expected, or the disk is full;
     * errors of the source
     */
    async receive(source: AsyncIterable<Uint8Array>, expected: Expected): Promise<StagedFile> {
      const path = join(directory, randomUUID());
      const discard = () => rm(path, { force: true });
      try {
        return { path, discard, ...(await write(path, source, expected)) };
      } catch (error) {
        await discard();
        throw orNoRoom(error);
      }
    },
  };
}

async function write(
  path: string,
  source: AsyncIterable<Uint8Array>,
  expected: Expected,
): Promise<ReceivedFile> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    const sha256 = createHash('sha256');
    let bytes = 0;
    for await (const piece of source) {
      sha256.update(piece);
      bytes += piece.length;
      for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
    }
    const received = { bytes, sha256: sha256.digest('hex') };
    if (
      received.bytes !== (expected.bytes ?? bytes) ||
      received.sha256 !== (expected.sha256 ?? received.sha256)
    )
      throw new ServiceError('computer_failed', 'the file arrived damaged; nothing was written');
    return received;
  } finally {
    await file.close();
  }
}

/** The error to throw for one of a file system: if its disk is full, ServiceError `computer_failed`. */
export function orNoRoom(error: unknown): unknown {
  const isNoRoom =
    error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
  if (!isNoRoom) return error;
  return new ServiceError('computer_failed', 'the computer’s disk is full', { cause: error });
}
