// Images from a registry, where one is reached.
import type Docker from 'dockerode';

/** A registry that says nothing for so long is taken for unreachable. */
const PULL_SILENCE_MS_MAX = 15_000;
const PULL_TIMEOUT_MS = 600_000;

/** Whether the engine has the image. */
export async function isImagePresent(docker: Docker, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}

/** Throws when no registry answers, or it falls silent in the middle. */
export async function pullImage(docker: Docker, image: string, signal: AbortSignal): Promise<void> {
  const silence = new AbortController();
  const tooLong = AbortSignal.timeout(PULL_TIMEOUT_MS);
  let timer = setTimeout(() => silence.abort(new Error('the registry does not answer')), PULL_SILENCE_MS_MAX);
  try {
    const limits = AbortSignal.any([signal, silence.signal, tooLong]);
    const stream = await docker.pull(image, { abortSignal: limits });
    const done = Promise.withResolvers<void>();
    docker.modem.followProgress(
      stream,
      (error) => (error ? done.reject(error) : done.resolve()),
      ({ error }: { error?: string }) => {
        // A pull that fails in the middle says so in its stream, which ends as a good one does.
        if (error !== undefined) done.reject(new Error(error));
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(new Error('the registry fell silent')), PULL_SILENCE_MS_MAX);
      },
    );
    await done.promise;
  } finally {
    clearTimeout(timer);
  }
}
