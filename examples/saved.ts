// The folder for the results of examples: pictures, sound and videos.
import { mkdir, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';

const FOLDER = resolve(process.env.OUTPUT ?? 'output');

/** Saves a file into the folder `OUTPUT`, by default `output`, and returns the path to show. */
export async function saved(name: string, content: Uint8Array): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const path = resolve(FOLDER, name);
  await writeFile(path, content);
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}
