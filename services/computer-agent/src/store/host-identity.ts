// The id of this host, kept in the data folder, because records and workspaces refer to it. It is that of the host's NATS
// user, which may answer for this host only; without a user it is created at the first start.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { idOf, newId } from '@switchyard/contracts';

/** The id that a NATS user is bound to; undefined for other users. */
export function hostOfUser(user: string): string | undefined {
  return idOf('host').safeParse(user).data;
}

/**
 * Loads the id of the host whose data is in `folder`; on a new host writes `assigned`, or a new id.
 * @throws when the file holds no id, or not the assigned one: another id would orphan every computer of this host
 */
export async function loadHostId(folder: string, assigned?: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'host-id');
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (known !== null) {
    const id = idOf('host').safeParse(known.trim());
    if (!id.success) throw new Error(`${path} does not hold the id of a host: ${JSON.stringify(known)}`);
    if (assigned !== undefined && id.data !== assigned)
      throw new Error(
        `${path} holds ${id.data}, but the NATS user is ${assigned}: use the user of this host`,
      );
    return id.data;
  }
  const id = assigned ?? newId('host');
  // Atomic: half an id after a power cut would prevent every later start.
  await writeFile(`${path}.new`, `${id}\n`, { flush: true });
  await rename(`${path}.new`, path);
  return id;
}
