// Finds images in the engine and pulls them from a registry.
import type Docker from 'dockerode';

/** A registry that sends nothing for this time counts as unreachable. */
const PULL_SILENCE_MS_MAX = 15_000;
const PULL_TIMEOUT_MS = 600_000;

/** Undefined if the engine does not have the image. */
export async function inspectImage(
  docker: Docker,
  image: string,
): Promise<Docker.ImageInspectInfo | undefined> {
  try {
    return await docker.getImage(image).inspect();
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
}

/** Whether the engine has the image. */
export async function isImagePresent(docker: Docker, image: string): Promise<boolean> {
  return (await inspectImage(docker, image)) !== undefined;
}

/** @throws Error when no registry answers, or when it stops sending */
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
        // A failed pull reports its error in the stream, which ends normally.
        if (error !== undefined) done.reject(new Error(error));
        clearTimeout(timer);
        timer = setTimeout(
          () => silence.abort(new Error('the registry stopped sending')),
          PULL_SILENCE_MS_MAX,
        );
      },
    );
    await done.promise;
  } finally {
    clearTimeout(timer);
  }
}
