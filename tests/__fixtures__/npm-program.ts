// Programs from npm that only tests need, and that are too large for the lock file.
import { join } from 'node:path';
import { makeOnce, runCommand, toolsCacheFolder } from '@switchyard/local';

const INSTALL_MS_MAX = 600_000;

/** Installs a package into the tools cache, once per machine. @returns the path of its program */
export async function npmProgram(name: `@${string}/${string}@${string}`, program: string): Promise<string> {
  const folder = join(toolsCacheFolder(process.env), name.slice(1).replaceAll(/[/@]/g, '-'));
  await makeOnce(folder, async (unfinished) => {
    const words = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', unfinished, name];
    await runCommand('npm', words, { cwd: unfinished, timeoutMs: INSTALL_MS_MAX });
  });
  return join(folder, 'node_modules', '.bin', program);
}
