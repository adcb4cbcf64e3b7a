/**
 * The users of a Docker engine that a launcher started. Several launchers and test runs on one machine share it, so
 * its starter stops it only if it is the last user and no foreign container runs.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StartedEngine } from './docker-engine.ts';
import { endProcess } from './pid-files.ts';
import { processIdentity } from './process-identity.ts';

export interface EngineUsers {
  join(): Promise<void>;
  /** Leaves, and stops the engine if this process started it and no other user is left. Returns whether it stopped it. */
  leave(started: StartedEngine | undefined): Promise<boolean>;
}

/** dockerd stops its containers first. */
const STOP_TIMEOUT_MS = 30_000;

interface EngineUsersDeps {
  /** Whether the engine runs containers that Switchyard did not start. */
  readonly servesOthers: () => Promise<boolean>;
}

export function createEngineUsers(cacheFolder: string, { servesOthers }: EngineUsersDeps): EngineUsers {
  const folder = join(cacheFolder, 'engine-users');
  const mine = join(folder, String(process.pid));

  async function isAlone(): Promise<boolean> {
    for (const pid of await readdir(folder).catch(() => [])) {
      const identity = await readFile(join(folder, pid), 'utf8').catch(() => undefined);
      if (identity !== undefined && (await processIdentity(Number(pid))) === identity) return false;
      await rm(join(folder, pid), { force: true });
    }
    return true;
  }

  return {
    async join() {
      await mkdir(folder, { recursive: true });
      await writeFile(mine, (await processIdentity(process.pid)) ?? '');
    },
    async leave(started) {
      await rm(mine, { force: true });
      if (started === undefined || !(await isAlone())) return false;
      // A dead engine has no users, and does not answer.
      if ((await processIdentity(started.pid)) !== started.identity) return false;
      if (await servesOthers()) return false;
      await endProcess(started.pid, started.identity, STOP_TIMEOUT_MS);
      return true;
    },
  };
}
