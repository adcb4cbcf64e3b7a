// The id of this host, created at the first start and kept in the data folder, because records and workspaces refer
// to it.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { idOf, newId } from '@switchyard/contracts';

/**
 * Loads the id of the host whose data is in `folder`; creates it if there is none.
 * @throws when the file exists but holds no id: a new id would orphan every computer of this host
 */
export async function loadHostId(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'host-id');
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (known !== null) {
    const id = idOf('host').safeParse(known.trim());
    if (!id.success) throw new Error(`${path} does not hold the id of a host: ${JSON.stringify(known)}`);
    return id.data;
  }
  const id = newId('host');
  // Atomic: half an id after a power cut would prevent every later start.
  await writeFile(`${path}.new`, `${id}\n`, { flush: true });
  await rename(`${path}.new`, path);
  return id;
}
