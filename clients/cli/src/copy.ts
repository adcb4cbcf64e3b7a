// `switchyard computers cp`: one file, streamed either way.
import { createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Computers } from '@switchyard/client';

interface Place {
  /** Null: on this machine. */
  id: string | null;
  path: string;
}

/** @throws Error unless exactly one of the places is in a computer */
export async function copy(
  computers: Computers,
  from: string,
  to: string,
): Promise<{ from: string; to: string }> {
  const [source, target] = [placeOf(from), placeOf(to)];
  if (source.id === null && target.id !== null) {
    const path = isFolderPath(target.path) ? posix.join(target.path, basename(source.path)) : target.path;
    const { files } = await computers.get(target.id);
    await using file = await open(source.path);
    if ((await file.stat()).isDirectory()) throw folderError(source.path);
    const content = Readable.toWeb(file.createReadStream()) as ReadableStream<Uint8Array>;
    const written = await files.write(path, content);
    return { from, to: `${target.id}:${written.path}` };
  }
  if (source.id !== null && target.id === null) {
    const isFolder = (await stat(target.path).catch(() => null))?.isDirectory() ?? false;
    const path = isFolder ? join(target.path, posix.basename(source.path)) : target.path;
    const { files } = await computers.get(source.id);
    const content = await files
      .read(source.path, { format: 'stream' })
      .catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'EISDIR' ? folderError(source.path) : error;
      });
    await pipeline(Readable.fromWeb(content), createWriteStream(path));
    return { from, to: path };
  }
  throw new Error('One of the two places must be in a computer: <id>:<path>.');
}

function folderError(path: string): Error {
  return new Error(`${path} is a folder: cp copies one file.`);
}

function placeOf(text: string): Place {
  const [, id = null, path = text] = /^(cmp_[\w-]+):(.*)$/s.exec(text) ?? [];
  return { id, path };
}

function isFolderPath(path: string): boolean {
  return path === '' || path.endsWith('/');
}
