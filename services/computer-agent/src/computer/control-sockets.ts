// Where the init of each container can be reached.
//
// A container gets an empty directory of its own in which its init makes a socket. Before anything of a renter runs,
// the socket is moved out of that directory and the directory is removed: nobody inside can then put another thing in
// its place (a link to a socket of the host, say), nor write to the host's disk there.
import { lstat, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { INIT_SOCKET } from '../docker/engine.ts';

const SOCKET_TIMEOUT_MS = 10_000;
const SOCKET_POLL_MS = 2;

export interface ControlSockets {
  /** The host directory to mount into the container. */
  directory(slot: string): string;
  create(slot: string): Promise<void>;
  /** Waits for the socket of a container that was just started, and takes it. Returns its path. */
  take(slot: string): Promise<string>;
  /** The path of a socket that an earlier agent took, or was about to take when it died. */
  find(slot: string): Promise<string>;
  remove(slot: string): Promise<void>;
  /** Slots of which there is a directory or a socket. */
  list(): Promise<string[]>;
}

export async function openControlSockets(directory: string): Promise<ControlSockets> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const directoryOf = (slot: string) => join(directory, slot);
  const pathOf = (slot: string) => join(directory, `${slot}.sock`);
  const take = async (slot: string) => {
    const made = join(directoryOf(slot), INIT_SOCKET);
    await appearance(made);
    await rename(made, pathOf(slot));
    await rmdir(directoryOf(slot));
    return pathOf(slot);
  };
  return {
    directory: directoryOf,
    async create(slot) {
      await mkdir(directoryOf(slot), { mode: 0o755 });
    },
    take,
    async find(slot) {
      if (!(await isSocket(pathOf(slot)))) return take(slot);
      await rmdir(directoryOf(slot)).catch(() => {}); // it died between the two steps
      return pathOf(slot);
    },
    async remove(slot) {
      await rm(directoryOf(slot), { recursive: true, force: true });
      await rm(pathOf(slot), { force: true });
    },
    async list() {
      return [...new Set((await readdir(directory)).map((name) => name.replace(/\.sock$/, '')))];
    },
  };
}

async function appearance(path: string): Promise<void> {
  const deadline = performance.now() + SOCKET_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (await isSocket(path)) return;
    await delay(SOCKET_POLL_MS);
  }
  throw new ServiceError('computer_failed', 'the init of the computer did not start in time');
}

async function isSocket(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSocket() ?? false;
}
