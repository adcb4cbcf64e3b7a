import { execFileSync } from 'node:child_process';

const PRLIMIT_TIMEOUT_MS = 60_000;

/** Runs `work` while this process can write to no file, as on a disk without room. */
export async function onFullDisk<T>(work: () => T | Promise<T>): Promise<T> {
  limitFiles('0:unlimited');
  try {
    return await work();
  } finally {
    limitFiles('unlimited:unlimited');
  }
}

function limitFiles(bytes: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}`], {
    timeout: PRLIMIT_TIMEOUT_MS,
  });
}
