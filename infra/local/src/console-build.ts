/** Builds the console (`services/console`) to static files when its sources have changed since the last build. */
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './config.ts';
import type { Doing } from './progress.ts';
import { CommandError, runCommand } from './run-command.ts';
import { SetupError } from './setup-error.ts';

const FOLDER = join(ROOT, 'services', 'console');
const BUILT = join(FOLDER, 'dist');
/** Names the sources of a build; it is inside, so that the two cannot differ. */
const STAMP = 'sources.sha256';
const BUILD_TIMEOUT_MS = 5 * 60_000;
/** All that a build is made from. */
const SOURCES = [
  'services/console/src',
  'services/console/index.html',
  'services/console/vite.config.ts',
  'libs/contracts/src',
  'libs/money/src',
  'package-lock.json',
];

type ConsoleBuild = 'built' | 'unchanged';

/** @throws SetupError if it cannot be built */
export async function ensureConsole(env: NodeJS.ProcessEnv, doing: Doing): Promise<ConsoleBuild> {
  const sources = await digestOf(SOURCES.map((path) => join(ROOT, path)));
  if (await isBuilt(sources)) return 'unchanged';
  doing('building the console; takes about ten seconds, only after a change', { announce: true });
  // Two starts may build at once: each in a folder of its own, and one of them is kept.
  const unfinished = `${BUILT}.${process.pid}`;
  try {
    const vite = join(ROOT, 'node_modules', '.bin', 'vite');
    await runCommand(vite, ['build', '--outDir', unfinished, '--logLevel', 'error'], {
      cwd: FOLDER,
      env: { ...env, NODE_ENV: 'production' },
      timeoutMs: BUILD_TIMEOUT_MS,
    });
    await writeFile(join(unfinished, STAMP), sources);
    if (await isBuilt(sources)) return 'built'; // by another start, meanwhile
    await rm(BUILT, { recursive: true, force: true });
    await rename(unfinished, BUILT).catch(async (error: unknown) => {
      if (!(await isBuilt(sources))) throw error; // otherwise another start was quicker
    });
    return 'built';
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new SetupError(
      `The console cannot be built: ${error.message}`,
      'Run npm ci, then npm start again.',
    );
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function isBuilt(sources: string): Promise<boolean> {
  return (await readFile(join(BUILT, STAMP), 'utf8').catch(() => '')) === sources;
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const digest = createHash('sha256');
  const add = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => null);
    if (entries === null) {
      digest.update(`${path.slice(ROOT.length)}\n`).update(await readFile(path));
      return;
    }
    const names = entries.map(({ name }) => name).filter((name) => !name.endsWith('.test.ts'));
    for (const name of names.sort()) await add(join(path, name));
  };
  for (const path of paths) await add(path);
  return digest.digest('hex');
}
