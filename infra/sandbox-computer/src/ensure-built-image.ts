// Builds an image that is missing or whose recipe changed. Of several callers in several processes, one builds and the
// others wait.
import { join } from 'node:path';
import type Docker from 'dockerode';
import { buildImage } from './build-image.ts';
import { buildLockName, withBuildLock } from './build-lock.ts';
import { inspectImage } from './pull-image.ts';
import { withWorkDirectory } from './work-directory.ts';

const LABEL_RECIPE = 'switchyard.recipe';
/** The tag that the image was built for. */
const LABEL_TAG = 'switchyard.tag';

/** What a build works with. */
interface Site {
  /** Empty. */
  readonly workDirectory: string;
  /** Where the Dockerfile and what it copies belong: a folder of the work directory that does not exist yet. */
  readonly contextDirectory: string;
}

interface BuiltImageOptions {
  readonly docker: Docker;
  /** Name and tag of the image. */
  readonly tag: string;
  /** Of everything that goes into the image. */
  readonly hash: string;
  readonly signal: AbortSignal;
  /** Receives the progress in words at each step. Not called if the image exists. */
  readonly onProgress: (message: string) => void;
  /** Writes the build context and returns the arguments of the Dockerfile. */
  readonly prepare: (site: Site) => Promise<Readonly<Record<string, string>>>;
  /** The progress in words from a line of the builder, if it is one to report. */
  readonly inWords: (line: string) => string | undefined;
}

/**
 * Also removes images of older recipes that no container uses any more.
 * @returns whether this call built the image
 * @throws Error with the builder's last lines, if it cannot be built
 */
export async function ensureBuiltImage(options: BuiltImageOptions): Promise<boolean> {
  const { docker, tag, hash, signal, onProgress, prepare, inWords } = options;
  const isThere = async () => (await inspectImage(docker, tag))?.Config.Labels?.[LABEL_RECIPE] === hash;
  if (await isThere()) {
    await removeReplaced(options);
    return false;
  }
  const name = await buildLockName(docker);
  onProgress(`${tag}: waiting for other builds on this host`);
  return withBuildLock({ name, signal }, async () => {
    if (await isThere()) return false;
    await withWorkDirectory(name, async (workDirectory) => {
      const contextDirectory = join(workDirectory, 'context');
      const buildArguments = await prepare({ workDirectory, contextDirectory });
      const onLine = (line: string) => {
        const words = inWords(line);
        if (words !== undefined) onProgress(words);
      };
      const labels = { [LABEL_RECIPE]: hash, [LABEL_TAG]: tag };
      await buildImage({ docker, contextDirectory, tag, buildArguments, labels, signal, onLine });
    });
    await removeReplaced(options);
    return true;
  });
}

/** The hash protects images that are being built on top of the present one: they have its labels, and no name yet. */
async function removeReplaced({ docker, tag, hash }: BuiltImageOptions): Promise<void> {
  const label = [`${LABEL_TAG}=${tag}`];
  const filters = { dangling: ['true'], label, 'label!': [`${LABEL_RECIPE}=${hash}`] };
  await docker.pruneImages({ filters }).catch(() => {}); // the next call tries again
}
