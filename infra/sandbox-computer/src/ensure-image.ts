// Ensures that the standard computer image exists. It is rebuilt only when its recipe changes.
import type Docker from 'dockerode';
import { ensureBase } from './base-image.ts';
import { writeBuildContext } from './build-context.ts';
import { proxyArguments } from './build-image.ts';
import { PREPARING, stepInWords } from './build-progress.ts';
import { ensureBuiltImage } from './ensure-built-image.ts';
import { readRecipe } from './recipe.ts';

export const IMAGE = 'switchyard/sandbox-computer:latest';

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
  const built = await ensureBuiltImage({
    ...{ docker, tag: IMAGE, hash: recipe.hash, signal, onProgress, inWords: stepInWords },
    async prepare(site) {
      site.onProgress(PREPARING);
      const { workDirectory, contextDirectory } = site;
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
      return { BASE: await found, ...proxyArguments(recipe.apt.proxy, env) };
    },
  });
  return { built };
}
