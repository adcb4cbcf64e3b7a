// Images that a caller names: pulled from a public registry, never from a private address behind the host.
//
// The name is looked up at its registry first, and what is pulled is the manifest that it stood for, by digest: no name
// of this host's own images is moved, however a renter calls theirs, and what is refused was not pulled. Only what was
// pulled for a computer may be used by name, so each pull is remembered on disk, and a computer that starts again takes
// the image that is there.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type CreationProgress, ServiceError } from '@switchyard/contracts';
import { linesOf } from '@switchyard/service';
import type Docker from 'dockerode';
import { z } from 'zod';
import type { HostLogger } from '../computer/logger.ts';
import { wordsToShow } from './engine-words.ts';
import { PullProgress, pullEvent } from './pull-progress.ts';
import { type Resolve, refusalOf, resolveAll } from './registry-address.ts';

const PULL_TIMEOUT_MS = 300_000;
/** A pull that tells of nothing new for this long is given up. */
const STALLED_MS_MAX = 60_000;
const LOG_EVERY_MS = 5_000;
const BYTES_PER_GB = 1024 ** 3;
/** [registry host[:port]/]path[:tag][@digest], as strict as Docker itself. */
const REFERENCE_PATTERN =
  /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w][\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/;

/** For `details.reason` of `image_unavailable`. */
type Reason =
  | 'invalid_reference'
  | 'private_registry'
  | 'not_found'
  | 'unauthorized'
  | 'rate_limited'
  | 'wrong_platform'
  | 'too_large'
  | 'no_room'
  | 'stalled'
  | 'too_slow'
  | 'failed';

/** What the registry said of an image. */
const distribution = z.object({
  Descriptor: z.object({ digest: z.string() }),
  Platforms: z.array(z.object({ architecture: z.string(), os: z.string() })).nullish(),
});

export interface ForeignImagesOptions {
  readonly docker: Docker;
  /** Directory in which pulls are remembered. */
  readonly memory: string;
  /** Unpacked. */
  readonly gbMax: number;
  /** Whether this host's disk may take more; asked again and again. */
  readonly hasRoom: () => boolean;
  readonly logger: HostLogger;
  /** Private networks (CIDR) in which there may be registries. */
  readonly allowedNetworks?: readonly string[];
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
  readonly stalledMsMax?: number;
}

export interface ImageWish {
  readonly image: string;
  /** Told how far a pull is, with each line of the engine's; never, where the image is there. */
  readonly onPull?: ((progress: CreationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

type PullOptions = ForeignImagesOptions & ImageWish;

export interface ForeignImages {
  /**
   * Makes an image present on this host, and keeps it from being removed while it is used: afterwards only a container
   * that was made of it does.
   * @param work gets the name by which the engine has it
   * @throws ServiceError `image_unavailable` saying why it cannot be had; nothing of it is left then.
   */
  use<T>(wish: ImageWish, work: (pinned: string) => Promise<T>): Promise<T>;
  /**
   * Removes the images that were pulled and that nobody uses: for when the host's disk is nearly full. A stopped computer
   * has no container; its image is pulled again when it starts.
   * @returns how many were removed
   */
  removeUnused(): Promise<number>;
}

/** Those of one host. */
export function createForeignImages(options: ForeignImagesOptions): ForeignImages {
  const { docker, memory } = options;
  /** By repository: how many use an image of it. */
  const uses = new Map<string, number>();
  /** By repository. The engine removes in steps: what is pulled between them it calls pulled, and takes away all the same. */
  const removals = new Map<string, Promise<boolean>>();

  return {
    async use(wish, work) {
      const repository = repositoryOf(wish.image);
      for (let removal = removals.get(repository); removal; removal = removals.get(repository))
        await removal.catch(() => {}); // whoever removes hears of it
      uses.set(repository, (uses.get(repository) ?? 0) + 1);
      try {
        return await work(await ensure({ ...options, ...wish }));
      } finally {
        const others = (uses.get(repository) ?? 1) - 1;
        if (others > 0) uses.set(repository, others);
        else uses.delete(repository);
      }
    },
    async removeUnused() {
      let removed = 0;
      for (const name of await readdir(memory).catch(() => [])) {
        const note = join(memory, name);
        const pinned = await readFile(note, 'utf8');
        const repository = repositoryOf(pinned);
        if (!pinned || uses.has(repository)) continue; // empty: it is being written
        const removal = removeImage(docker, pinned, note).finally(() => removals.delete(repository));
        removals.set(repository, removal);
        if (await removal) removed += 1;
      }
      return removed;
    },
  };
}

/** With the note of it. @returns whether this removed it */
async function removeImage(docker: Docker, pinned: string, note: string): Promise<boolean> {
  let wasThere = true;
  try {
    await docker.getImage(pinned).remove();
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === 409) return false; // a container is there that was made of it
    if (statusCode !== 404) throw error;
    wasThere = false;
  }
  await rm(note, { force: true });
  return wasThere;
}

/** @returns the name by which the engine has it */
async function ensure(options: PullOptions): Promise<string> {
  const { docker, image, memory, signal, resolve = resolveAll, allowedNetworks = [] } = options;
  if (!REFERENCE_PATTERN.test(image))
    throw unavailable(image, 'invalid_reference', 'it is not an image reference');
  const note = join(memory, createHash('sha256').update(image).digest('hex'));
  const known = await readFile(note, 'utf8').catch(() => '');
  if (known && (await sizeOf(docker, known)) !== null) return known;

  const refusal = await refusalOf(image, { resolve, allowedNetworks });
  if (refusal) throw unavailable(image, 'private_registry', refusal.why, refusal.cause);
  if (!options.hasRoom()) throw unavailable(image, 'no_room', NO_ROOM);
  const pull = new Pull(options);
  try {
    const pinned = await pull.lookUp();
    await pull.fetch(pinned);
    await mkdir(memory, { recursive: true, mode: 0o700 });
    await writeFile(note, pinned);
    return pinned;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ServiceError) throw error;
    throw unavailable(image, 'failed', wordsToShow(messageOf(error), image), error);
  } finally {
    pull.end();
  }
}

const NO_ROOM = 'the disk of its computer’s host is nearly full';

/** One attempt at one image, within its limits. */
class Pull {
  readonly #on: PullOptions;
  readonly #progress = new PullProgress();
  /** Aborted with the reason for which this ends. */
  readonly #over = new AbortController();
  readonly #timeout: NodeJS.Timeout;
  #stalled: NodeJS.Timeout | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PullOptions) {
    this.#on = options;
    const { timeoutMs = PULL_TIMEOUT_MS, signal } = options;
    this.#timeout = setTimeout(
      () => this.#giveUp('too_slow', `pulling it took longer than ${timeoutMs / 1_000} s`),
      timeoutMs,
    );
    this.#stir();
    const leave = () => this.#over.abort(signal?.reason);
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave, { signal: this.#over.signal });
  }

  end(): void {
    clearTimeout(this.#timeout);
    clearTimeout(this.#stalled);
    this.#over.abort();
  }

  /** Asks the registry what the name stands for. @returns repository@digest */
  async lookUp(): Promise<string> {
    const { docker, image, onPull } = this.#on;
    onPull?.({ ...this.#progress.now, phase: 'looking_up' });
    const asked = docker.getImage(withTag(image)).distribution();
    const found = await this.#orOver(asked).catch((error: unknown) => {
      const { statusCode } = error as { statusCode?: number };
      const [reason, why] = REFUSALS[statusCode ?? 0] ?? [];
      throw reason && why ? unavailable(image, reason, why, error) : error;
    });
    const { Descriptor, Platforms } = distribution.parse(found);
    const { Arch: own } = await docker.version();
    const fits = Platforms?.some(({ os, architecture }) => os === 'linux' && architecture === own) ?? true;
    if (!fits) {
      const there = Platforms?.map(({ os, architecture }) => `${os}/${architecture}`).join(', ');
      throw unavailable(
        image,
        'wrong_platform',
        `it is for ${there}, and its computer would be linux/${own}`,
      );
    }
    return `${repositoryOf(image)}@${Descriptor.digest}`;
  }

  async fetch(pinned: string): Promise<void> {
    const { docker, image, gbMax, logger } = this.#on;
    const wasThere = (await sizeOf(docker, pinned)) !== null;
    const signal = this.#over.signal;
    const answer = (await this.#orOver(docker.pull(pinned, { abortSignal: signal }))) as Readable;
    await this.#orOver(this.#follow(answer)).finally(() => answer.destroy());
    const bytes = await sizeOf(docker, pinned);
    if (bytes === null) throw new Error('the engine says that it was pulled, and has it not');
    if (bytes > gbMax * BYTES_PER_GB) {
      if (!wasThere) await docker.getImage(pinned).remove();
      throw this.#tooLarge();
    }
    logger.info({ image, pinned, bytes }, 'an image was pulled');
  }

  async #follow(answer: Readable): Promise<void> {
    const { image, gbMax, hasRoom, logger, onPull } = this.#on;
    for await (const line of linesOf(answer)) {
      const event = pullEvent.parse(JSON.parse(line));
      if (event.error)
        throw unavailable(image, 'failed', wordsToShow(event.error, image), new Error(event.error));
      this.#stir();
      this.#progress.take(event);
      onPull?.(this.#progress.now);
      if (this.#progress.totalBytes > gbMax * BYTES_PER_GB) throw this.#tooLarge();
      if (!hasRoom()) throw unavailable(image, 'no_room', NO_ROOM);
      if (performance.now() - this.#loggedAt < LOG_EVERY_MS) continue;
      this.#loggedAt = performance.now();
      logger.info({ image, progress: String(this.#progress) }, 'an image is being pulled');
    }
  }

  /** Something new was told. */
  #stir(): void {
    const { stalledMsMax = STALLED_MS_MAX } = this.#on;
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(
      () => this.#giveUp('stalled', `its registry has sent nothing for ${stalledMsMax / 1_000} s`),
      stalledMsMax,
    );
  }

  #giveUp(reason: Reason, why: string): void {
    const error = unavailable(this.#on.image, reason, `${why} (${this.#progress})`);
    this.#over.abort(error);
  }

  #tooLarge(): ServiceError {
    const { image, gbMax } = this.#on;
    return unavailable(image, 'too_large', `it is larger than ${gbMax} GB (SWITCHYARD_IMAGE_GB_MAX)`);
  }

  /** The work's own outcome, or why there will be none. */
  async #orOver<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#over;
    const over = Promise.withResolvers<never>();
    const stop = () => over.reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    work.catch(() => {}); // it is not waited for any longer when the other came first
    try {
      return await Promise.race([work, over.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}

/** By the status in which the engine passes on what the registry said. */
const REFUSALS: Readonly<Record<number, readonly [Reason, string]>> = {
  401: ['unauthorized', 'its registry wants a login, and only public images can be used'],
  403: ['unauthorized', 'its registry does not give it to everybody, and only public images can be used'],
  404: ['not_found', 'its registry has no such image'],
  429: ['rate_limited', 'its registry has been asked too often from this host; try again later'],
};

/** Without a tag Docker's API would pull every tag there is. */
function withTag(image: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1);
  return /[:@]/.test(name) ? image : `${image}:latest`;
}

function repositoryOf(image: string): string {
  const [named = image] = image.split('@');
  return named.replace(/:[\w.-]+$/, '');
}

/** Bytes of an image that the engine has; null: it has it not. */
async function sizeOf(docker: Docker, image: string): Promise<number | null> {
  try {
    return (await docker.getImage(image).inspect()).Size;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return null;
    throw error;
  }
}

function messageOf(error: unknown): string {
  const json = (error as { json?: { message?: string } }).json?.message;
  return json ?? (error instanceof Error ? error.message : String(error));
}

function unavailable(image: string, reason: Reason, why: string, cause?: unknown): ServiceError {
  return new ServiceError('image_unavailable', `the image ${image} cannot be pulled: ${why}`, {
    param: 'image',
    details: { reason },
    cause,
  });
}
