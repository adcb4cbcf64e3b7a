// Sockets of the containers' inits.
//
// Each container gets an empty directory in which its init creates a socket. Before any program of a renter runs, the
// agent moves the socket out and removes the directory. Programs inside can then neither replace the socket (for
// example by a link to a host socket) nor write to the host's disk there.
import { lstat, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { INIT_SOCKET } from '../docker/container-config.ts';

const SOCKET_TIMEOUT_MS = 20_000;
const SOCKET_POLL_MS = 2;

export type ControlSockets = Awaited<ReturnType<typeof openControlSockets>>;

export async function openControlSockets(directory: string) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const directoryOf = (slot: string) => join(directory, slot);
  const pathOf = (slot: string) => join(directory, `${slot}.sock`);
  return {
    /** Host directory to mount into the container. */
    directory: directoryOf,
    async create(slot: string): Promise<void> {
      await mkdir(directoryOf(slot), { mode: 0o755 });
    },
    /** Waits for the socket of a container that was just started, moves it, and returns its path. */
    async take(slot: string): Promise<string> {
      const made = join(directoryOf(slot), INIT_SOCKET);
      await appearance(made);
      await rename(made, pathOf(slot));
      await rmdir(directoryOf(slot));
      return pathOf(slot);
    },
    /** Path of a taken socket. */
    path: pathOf,
    async remove(slot: string): Promise<void> {
      await rm(directoryOf(slot), { recursive: true, force: true });
      await rm(pathOf(slot), { force: true });
    },
    /** Slots that have a directory or a socket. */
    async list(): Promise<string[]> {
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
