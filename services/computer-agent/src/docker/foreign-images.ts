// Images that a caller names, fetched by the agent itself from public registries only.
//
// The engine would resolve the registry's name again and follow redirects and token servers to any address. So the
// agent fetches manifest, configuration and layers through its own egress and loads them into the engine as an archive
// (image-pull.ts), tagged with the digest: names of the host's own images are never moved.
// Only images pulled for a computer may be used by name, so each pull is noted on disk; a computer that starts again
// uses the present image.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { isImagePresent } from '@switchyard/sandbox-computer';
import type Docker from 'dockerode';
import { ImageFailure, type ImageFailureReason } from './image-failure.ts';
import { ImagePull, type ImagePullDeps, type ImageRequest, NO_ROOM } from './image-pull.ts';
import { type ImageReference, parseImageReference } from './image-reference.ts';

export interface ForeignImagesDeps extends Omit<ImagePullDeps, 'loading' | 'removeUnused'> {
  /** Directory of the notes about pulls. */
  readonly memory: string;
}

export interface ForeignImages {
  /**
   * Makes an image present on this host and keeps it from being removed while `work` runs. Afterwards only a
   * container made from it keeps it.
   * @param work receives the image's name in the engine
   * @throws ServiceError `image_unavailable` with the reason; nothing of the image is left then
   */
  use<T>(request: ImageRequest, work: (pinned: string) => Promise<T>): Promise<T>;
  /**
   * Removes pulled images that are not in use, when the host's disk is nearly full. A stopped computer has no
   * container; its image is pulled again when it starts.
   * @returns how many were removed
   */
  removeUnused(): Promise<number>;
}

/** Those of one host. */
export function createForeignImages(deps: ForeignImagesDeps): ForeignImages {
  const { docker, memory } = deps;
  /** Repository -> number of current uses of its images. */
  const uses = new Map<string, number>();
  /** By repository. A pull must wait: the engine removes in steps, and would remove what is pulled in between. */
  const removals = new Map<string, Promise<boolean>>();

  const removeAllUnused = async () => {
    let removed = 0;
    for (const name of await readdir(memory).catch(() => [])) {
      const note = join(memory, name);
      const pinned = await readFile(note, 'utf8');
      const repository = parseImageReference(pinned)?.repository;
      if (repository === undefined || uses.has(repository)) continue; // undefined: the note is being written
      const removal = removeImage(docker, pinned, note).finally(() => removals.delete(repository));
      removals.set(repository, removal);
      if (await removal) removed += 1;
    }
    return removed;
  };
  let removing: Promise<number> | null = null;
  const removeUnused = () => {
    removing ??= removeAllUnused().finally(() => {
      removing = null;
    });
    return removing;
  };
  const pullDeps = { ...deps, removeUnused, loading: new Set<ImagePull>() };

  return {
    async use(request, work) {
      const reference = parseImageReference(request.image);
      if (!reference) throw unavailable(request.image, 'invalid_reference', 'it is not an image reference');
      const { repository } = reference;
      for (let removal = removals.get(repository); removal; removal = removals.get(repository))
        await removal.catch(() => {}); // the caller of the removal gets the error
      uses.set(repository, (uses.get(repository) ?? 0) + 1);
      try {
        return await work(await ensure(memory, pullDeps, request, reference));
      } finally {
        const others = (uses.get(repository) ?? 1) - 1;
        if (others > 0) uses.set(repository, others);
        else uses.delete(repository);
      }
    },
    removeUnused,
  };
}

/** Also removes its note. @returns whether this call removed the image */
async function removeImage(docker: Docker, pinned: string, note: string): Promise<boolean> {
  let wasThere = true;
  try {
    await docker.getImage(pinned).remove();
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === 409) return false; // a container uses it
    if (statusCode !== 404) throw error;
    wasThere = false;
  }
  await rm(note, { force: true });
  return wasThere;
}

/** @returns the image's name in the engine */
async function ensure(
  memory: string,
  deps: ImagePullDeps,
  request: ImageRequest,
  reference: ImageReference,
): Promise<string> {
  const { docker } = deps;
  const { image, signal } = request;
  const note = join(memory, createHash('sha256').update(image).digest('hex'));
  const known = await readFile(note, 'utf8').catch(() => '');
  if (known && (await isImagePresent(docker, known))) return known;

  if (!deps.hasRoom()) throw unavailable(image, 'no_room', NO_ROOM);
  const pull = new ImagePull(deps, request, reference);
  try {
    const found = await pull.lookUp();
    const pinned = `${reference.repository}:${found.image.digest.replace(':', '-')}`;
    // Write the note before the image, so that the next agent finds the leftovers of a dead one.
    await mkdir(memory, { recursive: true, mode: 0o700 });
    await writeFile(note, pinned);
    await pull.fetch(found, pinned);
    return pinned;
  } catch (error) {
    if (!pull.isHandedOver && !(await isNotedImagePresent(docker, note))) await rm(note, { force: true });
    signal?.throwIfAborted();
    throw toUnavailable(image, error);
  } finally {
    pull.end();
  }
}

async function isNotedImagePresent(docker: Docker, note: string): Promise<boolean> {
  const pinned = await readFile(note, 'utf8').catch(() => '');
  return pinned !== '' && (await isImagePresent(docker, pinned).catch(() => false));
}

function toUnavailable(image: string, error: unknown): ServiceError {
  if (error instanceof ImageFailure) return unavailable(image, error.reason, error.message, error);
  if (!(error instanceof ServiceError))
    return unavailable(image, 'failed', 'its host could not load it', error);
  const isPrivate = error.code === 'url_not_allowed' || error.details?.reason === 'dns';
  return unavailable(image, isPrivate ? 'private_registry' : 'failed', error.message, error);
}

function unavailable(image: string, reason: ImageFailureReason, why: string, cause?: unknown): ServiceError {
  return new ServiceError('image_unavailable', `the image ${image} cannot be pulled: ${why}`, {
    param: 'image',
    details: { reason },
    cause,
  });
}
