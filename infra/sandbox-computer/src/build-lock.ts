// One builder at a time on this machine; the others wait.
//
// A child process holds the lock of a file. It ends with this process, so there is no stale lock.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { WORK_PARENT } from './work-directory.ts';

interface BuildLockOptions {
  /** Builders with the same name exclude each other. */
  readonly name: string;
  /** Aborting it ends the wait. */
  readonly signal: AbortSignal;
}

/** Builders of the same engine and user exclude each other: another user may not open the file of the lock. */
export async function buildLockName(docker: Docker): Promise<string> {
  const { ID } = (await docker.info()) as { ID: string };
  return createHash('sha256').update(`${ID} ${process.getuid?.()}`).digest('hex').slice(0, 16);
}

/** Runs `work` while holding the lock. @throws the reason of the signal, and what `work` throws */
export async function withBuildLock<T>(
  { name, signal }: BuildLockOptions,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const file = join(WORK_PARENT, `switchyard-build-${name}.lock`);
  const holder = spawn('flock', [file, 'sh', '-c', 'echo; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stop = () => holder.kill();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const failed = once(holder, 'error').then(([error]) => Promise.reject(error as Error));
    const { done } = await Promise.race([holder.stdout[Symbol.asyncIterator]().next(), failed]);
    signal.throwIfAborted();
    if (done) throw new Error(`${file} cannot be locked`);
    return await work();
  } finally {
    signal.removeEventListener('abort', stop);
    holder.stdin.destroy();
  }
}
