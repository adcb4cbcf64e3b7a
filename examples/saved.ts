// Where the examples put what they make: pictures, sound and videos.
import { mkdir, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';

const FOLDER = resolve(process.env.OUTPUT ?? 'output');

/** Saves a file into the folder `OUTPUT`, by default `output`, and returns its path, to be shown. */
export async function saved(name: string, content: Uint8Array): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const path = resolve(FOLDER, name);
  await writeFile(path, content);
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}
