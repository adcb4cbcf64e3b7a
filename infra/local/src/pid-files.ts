/**
 * `<data>/run/<name>.pid` for each process of the stack, so that people and tests can signal them, and
 * `<name>.identity` beside it, so that a start after `kill -9` of the launcher finds its processes and signals no
 * other process by mistake.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from './process-identity.ts';

export interface PidFiles {
  write(name: string, pid: number): Promise<void>;
  remove(name: string): Promise<void>;
  /**
   * Ends the processes that an earlier launcher left running: SIGTERM, a wait, then SIGKILL. Those named in `last` end
   * after the others, which depend on them. Returns the names of the ended processes.
   */
  endLeftovers(last: readonly string[]): Promise<string[]>;
}

/** As long as a service may take to stop. */
const ASKED_TIMEOUT_MS = 20_000;
const POLL_EVERY_MS = 20;

export function createPidFiles(folder: string): PidFiles {
  const pidFile = (name: string) => join(folder, `${name}.pid`);
  const identityFile = (name: string) => join(folder, `${name}.identity`);

  async function remove(name: string): Promise<void> {
    await rm(pidFile(name), { force: true });
    await rm(identityFile(name), { force: true });
  }

  async function leftovers(): Promise<{ name: string; pid: number; identity: string }[]> {
    const files = await readdir(folder).catch(() => []);
    const names = files.filter((file) => file.endsWith('.pid')).map((file) => file.slice(0, -'.pid'.length));
    const found = [];
    for (const name of names) {
      const pid = Number.parseInt(await readFile(pidFile(name), 'utf8'), 10);
      const identity = await readFile(identityFile(name), 'utf8').catch(() => '');
      if (identity !== '' && (await processIdentity(pid)) === identity) found.push({ name, pid, identity });
      else await remove(name);
    }
    return found;
  }

  return {
    remove,
    async write(name, pid) {
      await mkdir(folder, { recursive: true });
      const identity = await processIdentity(pid);
      // The process has already ended.
      if (identity === undefined) return;
      await writeFile(identityFile(name), identity);
      await writeFile(pidFile(name), `${pid}\n`);
    },
    async endLeftovers(last) {
      const all = await leftovers();
      const groups = [
        all.filter((one) => !last.includes(one.name)),
        all.filter((one) => last.includes(one.name)),
      ];
      for (const group of groups) await Promise.all(group.map((one) => endProcess(one.pid, one.identity)));
      for (const { name } of all) await remove(name);
      return all.map((one) => one.name);
    },
  };
}

/** Ends a process that is not our child: SIGTERM, a bounded wait, SIGKILL. Skips it if its number was reused. */
export async function endProcess(pid: number, identity: string, timeoutMs = ASKED_TIMEOUT_MS): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if ((await processIdentity(pid)) !== identity) return;
    process.kill(pid, signal);
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      if ((await processIdentity(pid)) !== identity) return;
      // Only a parent learns from the kernel that a process ended, so this polls.
      await delay(POLL_EVERY_MS);
    }
  }
}
