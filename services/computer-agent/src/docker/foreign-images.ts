// Images that a caller names, fetched by the agent itself from public registries only.
//
// The engine would resolve the registry's name again and follow redirects and token servers to any address. So the
// agent fetches manifest, configuration and layers through its own egress and loads them into the engine as an archive
// (image-pull.ts), tagged with the digest: names of the host's own images are never moved.
// Only images pulled for a computer may be used by name, so each pull is noted on disk; a computer that starts again
// uses the present image.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { isImagePresent } from '@switchyard/sandbox-computer';
import { Lock, Places } from '@switchyard/service';
import type Docker from 'dockerode';
import { answeredBy, engineFails } from './engine.ts';
import { ImagePull, type ImagePullDeps, type ImageRequest, NO_ROOM } from './image-pull.ts';
import { type ImageReference, parseImageReference } from './image-reference.ts';
import { ImageFailure, type ImageFailureReason } from './image-registry.ts';

/**
 * Pulls of a host at the same time; further ones wait. The agent decompresses and checks each layer itself, between the
 * commands of its computers.
 */
const PULLS_MAX = 2;
/** Registries may be slow. */
const ORG_PULLS_MAX = 1;

export interface ForeignImagesDeps extends Omit<ImagePullDeps, 'loading' | 'removeUnused' | 'turns'> {
  /** Directory of the notes about pulls. */
  readonly memory: string;
}

interface EnsureDeps extends ImagePullDeps {
  readonly memory: string;
  /** By repository. A pull must wait: the engine removes in steps, and would remove what is pulled in between. */
  readonly removals: ReadonlyMap<string, Promise<boolean>>;
}

/** Serves one host. */
export function createForeignImages(deps: ForeignImagesDeps) {
  const { docker, memory, logger } = deps;
  /** Repository -> number of current uses of its images. */
  const uses = new Map<string, number>();
  const removals = new Map<string, Promise<boolean>>();
  const loading = new Set<ImagePull>();
  /** The engine unpacks even if the caller has left; until it is done, the image cannot be removed. */
  const isInUse = (repository: string) =>
    uses.has(repository) || loading.values().some((pull) => pull.repository === repository);

  const removeUntil = async (isEnough: () => Promise<boolean>) => {
    let removed = 0;
    for (const name of await readdir(memory).catch(() => [])) {
      if (await isEnough()) break;
      const note = join(memory, name);
      const pinned = await readFile(note, 'utf8').catch(() => ''); // a pull that failed has just removed it
      const repository = parseImageReference(pinned)?.repository;
      if (repository === undefined || isInUse(repository)) continue; // undefined: the note is being written
      const removal = removeImage(docker, pinned, note)
        .catch((error: unknown) => {
          logger.warn(
            { err: error, pinned },
            'An image that no computer uses was not removed; trying again later',
          );
          return false;
        })
        .finally(() => removals.delete(repository));
      removals.set(repository, removal);
      if (await removal) removed += 1;
    }
    return removed;
  };
  const oneAtATime = new Lock();
  /**
   * Removes pulled images that are not in use, one after the other until `isEnough`, when the host's disk is nearly
   * full. A stopped computer has no container; its image is pulled again when it starts, which may fail.
   * @returns how many were removed
   */
  const removeUnused = (isEnough: () => Promise<boolean>): Promise<number> =>
    oneAtATime.run(() => removeUntil(isEnough));
  const turns = new Places({ max: PULLS_MAX, orgMax: ORG_PULLS_MAX });
  const ensureDeps = { ...deps, removeUnused, removals, turns, loading };

  return {
    /**
     * Makes an image present on this host and keeps it from being removed while `work` runs. Afterwards only a
     * container made from it keeps it.
     * @param work receives the image's name in the engine
     * @throws ServiceError `image_unavailable` with the reason, `computer_failed` when the engine does not answer; nothing
     * of the image is left then
     */
    async use<T>(request: ImageRequest, work: (pinned: string) => Promise<T>): Promise<T> {
      const reference = parseImageReference(request.image);
      if (!reference) throw new Error(`control admitted ${request.image}, which is no image reference`);
      const { repository } = reference;
      uses.set(repository, (uses.get(repository) ?? 0) + 1);
      try {
        return await work(await ensure(ensureDeps, request, reference));
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
async function ensure(deps: EnsureDeps, request: ImageRequest, reference: ImageReference): Promise<string> {
  const { image, signal } = request;
  const note = join(deps.memory, createHash('sha256').update(image).digest('hex'));
  let pull: ImagePull | undefined;
  try {
    const removal = deps.removals.get(reference.repository);
    if (removal) await answeredBy(removal, deps.answerMsMax).catch(engineFails);
    const known = await findNoted(deps, note);
    if (known) return known;
    if (!deps.hasRoom()) throw new ImageFailure('no_room', NO_ROOM);
    pull = new ImagePull(deps, request, reference);
    await pull.begin();
    // Another pull of the image may have ended meanwhile.
    return (await findNoted(deps, note)) ?? (await fetchNoted(pull, deps, reference, note));
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ServiceError && error.code === 'computer_failed') throw error;
    throw toUnavailable(image, error);
  } finally {
    pull?.end();
  }
}

/** Writes the note before the image, so that the next agent finds the leftovers of a dead one. */
async function fetchNoted(
  pull: ImagePull,
  deps: ImagePullDeps,
  { repository }: ImageReference,
  note: string,
): Promise<string> {
  try {
    const found = await pull.lookUp();
    const pinned = `${repository}:${found.image.digest.replace(':', '-')}`;
    await mkdir(dirname(note), { recursive: true, mode: 0o700 });
    await writeFile(note, pinned);
    await pull.fetch(found, pinned);
    return pinned;
  } catch (error) {
    const isLeft = pull.isHandedOver || (await findNoted(deps, note).catch(() => undefined));
    if (!isLeft) await rm(note, { force: true });
    throw error;
  }
}

/** @returns the name of the image in the engine, if it is there */
async function findNoted(
  { docker, answerMsMax }: Pick<ImagePullDeps, 'docker' | 'answerMsMax'>,
  note: string,
): Promise<string | undefined> {
  const pinned = await readFile(note, 'utf8').catch(() => '');
  if (pinned === '') return undefined;
  const isThere = await answeredBy(isImagePresent(docker, pinned), answerMsMax).catch(engineFails);
  return isThere ? pinned : undefined;
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
