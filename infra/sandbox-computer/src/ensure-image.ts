// Ensures that the standard computer image exists. It is rebuilt only when its recipe changes.
import type Docker from 'dockerode';
import { ensureBase } from './base-image.ts';
import { writeBuildContext } from './build-context.ts';
import { proxyArguments } from './build-image.ts';
import { ensureBuiltImage } from './ensure-built-image.ts';
import { readRecipe } from './recipe.ts';

export const IMAGE = 'switchyard/sandbox-computer:latest';
const BUILDING = 'building the standard computer image';

interface EnsureImageOptions {
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
    async prepare({ workDirectory, contextDirectory }) {
      onProgress(`${BUILDING}: preparing its base`);
      await writeBuildContext(recipe, contextDirectory, signal);
      const base = await ensureBase({ docker, apt: recipe.apt, workDirectory, signal });
      return { BASE: base, ...proxyArguments(recipe.apt.proxy, env) };
    },
  });
  return { built };
}

/** From the builder's line `Step 7/10 : RUN …`: "building the standard computer image: step 7 of 10". */
export function stepInWords(line: string): string | undefined {
  const [, step, steps] = /^Step (\d+)\/(\d+) :/.exec(line) ?? [];
  return step === undefined ? undefined : `${BUILDING}: step ${step} of ${steps}`;
}
