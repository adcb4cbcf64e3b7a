// Ensures that the standard computer image exists. It is rebuilt only when its recipe changes.
import { join } from 'node:path';
import type Docker from 'dockerode';
import { ensureBase } from './base-image.ts';
import { writeBuildContext } from './build-context.ts';
import { buildImage, proxyArguments } from './build-image.ts';
import { buildLockName, withBuildLock } from './build-lock.ts';
import { PREPARING, stepInWords } from './build-progress.ts';
import { inspectImage } from './pull-image.ts';
import { type Recipe, readRecipe } from './recipe.ts';
import { withWorkDirectory } from './work-directory.ts';

export const IMAGE = 'switchyard/sandbox-computer:latest';
const LABEL_RECIPE = 'switchyard.recipe';

export interface EnsureImageOptions {
  readonly docker: Docker;
  /** Receives the progress in words at each step. Not called if the image exists. */
  readonly onProgress?: (message: string) => void;
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Resolves when the image exists. Of several callers in several processes, one builds and the others wait.
 * @throws Error with the builder's last lines, if it cannot be built
 */
export async function ensureImage(options: EnsureImageOptions): Promise<{ built: boolean }> {
  const { docker, onProgress = () => {}, signal = new AbortController().signal, env = process.env } = options;
  const recipe = await readRecipe(docker, env);
  const isThere = () => hasRecipe(docker, recipe.hash);
  if (await isThere()) return { built: false };

  let built = false;
  const name = await buildLockName(docker);
  await withBuildLock({ name, signal, onProgress }, isThere, async (tell) => {
    const before = await inspectImage(docker, IMAGE);
    await build({
      name,
      docker,
      recipe,
      env,
      signal,
      onProgress: (message) => {
        tell(message);
        onProgress(message);
      },
    });
    built = true;
    const after = await inspectImage(docker, IMAGE);
    // Removes the 1.7 GB of an older recipe, unless a container still uses it.
    if (before && before.Id !== after?.Id)
      await docker
        .getImage(before.Id)
        .remove()
        .catch(() => {});
  });
  return { built };
}

interface BuildOptions {
  /** Name of the lock that this process holds. */
  readonly name: string;
  readonly docker: Docker;
  readonly recipe: Recipe;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

async function build({ name, docker, recipe, env, signal, onProgress }: BuildOptions): Promise<void> {
  onProgress(PREPARING);
  await withWorkDirectory(name, async (workDirectory) => {
    const contextDirectory = join(workDirectory, 'context');
    const failing = new AbortController();
    const limits = AbortSignal.any([signal, failing.signal]);
    // Both write below one directory, so the second ends before the directory is removed.
    const orEndBoth = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        failing.abort(error);
        throw error;
      }
    };
    const context = orEndBoth(writeBuildContext(recipe, contextDirectory, limits));
    const found = orEndBoth(ensureBase({ docker, apt: recipe.apt, workDirectory, signal: limits }));
    await Promise.allSettled([context, found]);
    failing.signal.throwIfAborted();
    const base = await found;
    await buildImage({
      docker,
      contextDirectory,
      tag: IMAGE,
      buildArguments: { BASE: base, ...proxyArguments(recipe.apt.proxy, env) },
      labels: { [LABEL_RECIPE]: recipe.hash },
      signal,
      onLine: (line) => {
        const step = stepInWords(line);
        if (step !== undefined) onProgress(step);
      },
    });
  });
}

async function hasRecipe(docker: Docker, hash: string): Promise<boolean> {
  const found = await inspectImage(docker, IMAGE);
  return found?.Config.Labels?.[LABEL_RECIPE] === hash;
}
