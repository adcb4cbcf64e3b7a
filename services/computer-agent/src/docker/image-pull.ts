// One attempt to pull one image: asks its registry, and streams the layers into the engine as an archive. It is given up
// when it takes too long, makes no progress, or its caller disconnects.
import { networkInterfaces } from 'node:os';
import { Readable } from 'node:stream';
import type { CreationProgress } from '@switchyard/contracts';
import { createEgress, type Lookup, parseAllowList } from '@switchyard/egress';
import { type HeldPlaces, type Logger, linesOf, type Places } from '@switchyard/service';
import type Docker from 'dockerode';
import { z } from 'zod';
import { answeredBy, engineFails, unlessAnswered } from './engine.ts';
import { BYTES_PER_GB, imageArchive, tooLarge } from './image-archive.ts';
import type { ImageReference } from './image-reference.ts';
import {
  ImageFailure,
  type ImageFailureReason,
  ImageRegistry,
  type RemoteConfig,
  type RemoteImage,
} from './image-registry.ts';
import { PullProgress } from './pull-progress.ts';

const PULL_TIMEOUT_MS = 300_000;
/** A pull without progress for this time is given up. */
const STALLED_MS_MAX = 60_000;
const ENGINE_ANSWER_MS_MAX = 30_000;
/** Characters of a digest by which the engine names a layer that it unpacks. */
const SHORT_ID_CHARS = 12;
export const NO_ROOM = 'the host’s disk is nearly full';

/** One line of the engine's answer while it loads an archive. */
const loadEvent = z.object({
  id: z.string().nullish(),
  progressDetail: z.object({ current: z.number().nullish() }).nullish(),
  error: z.string().nullish(),
});

export interface ImagePullDeps {
  readonly docker: Docker;
  /** Maximum GB, unpacked. */
  readonly gbMax: number;
  /** Whether this host's disk has room; called repeatedly. */
  readonly hasRoom: () => boolean;
  /** Bytes that images may still take of this host's disk; measured for each call. */
  readonly roomBytes: () => Promise<number>;
  /** Removes images that are not in use, until `isEnough`. */
  readonly removeUnused: (isEnough: () => Promise<boolean>) => Promise<number>;
  /** Limits this host's pulls. */
  readonly turns: Places;
  /** Pulls of this host whose image the engine is receiving or unpacking. */
  readonly loading: Set<ImagePull>;
  readonly logger: Logger;
  /** Private networks (CIDR) that may contain registries. */
  readonly allowedNetworks?: readonly string[];
  readonly lookup?: Lookup;
  readonly timeoutMs?: number;
  readonly stalledMsMax?: number;
  /** Timeout for answers of the engine, in place of its default. */
  readonly answerMsMax?: number | undefined;
}

export interface ImageRequest {
  readonly image: string;
  /** Owner of the computer; undefined: none. */
  readonly org?: string | undefined;
  /** Called with progress during a pull. Not called if the image is present. */
  readonly onPull?: ((progress: CreationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a registry has under the name of an image. */
interface FoundImage {
  readonly registry: ImageRegistry;
  readonly image: RemoteImage;
  readonly config: RemoteConfig;
}

export class ImagePull {
  readonly #deps: ImagePullDeps;
  readonly #request: ImageRequest;
  readonly #reference: ImageReference;
  readonly #progress = new PullProgress();
  /** Aborted with the reason why the pull ends. */
  readonly #abort = new AbortController();
  readonly #timeout: NodeJS.Timeout;
  #stalled: NodeJS.Timeout | undefined;
  #turn: HeldPlaces | undefined;
  #isHandedOver = false;
  /** Size once unpacked; 0 until its room is reserved. */
  #unpackedBytes = 0;

  constructor(deps: ImagePullDeps, request: ImageRequest, reference: ImageReference) {
    this.#deps = deps;
    this.#request = request;
    this.#reference = reference;
    const { timeoutMs = PULL_TIMEOUT_MS } = deps;
    this.#timeout = setTimeout(
      () => this.#giveUp('too_slow', `the pull took longer than ${timeoutMs / 1_000} s`),
      timeoutMs,
    );
    const { signal } = request;
    const onCallerGone = () => this.#abort.abort(signal?.reason);
    if (signal?.aborted) onCallerGone();
    else signal?.addEventListener('abort', onCallerGone, { signal: this.#abort.signal });
  }

  get repository(): string {
    return this.#reference.repository;
  }

  /** The engine has the whole archive and loads it, even if the caller has disconnected. */
  get isHandedOver(): boolean {
    return this.#isHandedOver;
  }

  /** Ends the timers and requests. Call it exactly once. */
  end(): void {
    clearTimeout(this.#timeout);
    clearTimeout(this.#stalled);
    this.#abort.abort();
    this.#turn?.release();
  }

  /** Waits for its turn among this host's pulls. @throws ImageFailure `too_slow` if that takes too long */
  async begin(): Promise<void> {
    this.#request.onPull?.({ ...this.#progress.now, phase: 'looking_up' });
    const { org } = this.#request;
    this.#turn = await this.#deps.turns.take(1, { org, signal: this.#abort.signal });
    this.#restartStallTimer();
  }

  /** Asks the registry for manifest and configuration. */
  async lookUp(): Promise<FoundImage> {
    const { docker, gbMax, lookup, allowedNetworks = [] } = this.#deps;
    const { onPull } = this.#request;
    const egress = createEgress({
      allow: parseAllowList(allowedNetworks.join(',')),
      refused: hostAddresses(),
      ...(lookup === undefined ? {} : { lookup }),
    });
    const registry = new ImageRegistry({
      egress,
      reference: this.#reference,
      architecture: async () => (await this.#ofEngine(docker.version())).Arch,
      signal: this.#abort.signal,
    });
    const image = await this.#orAborted(registry.lookUp());
    this.#restartStallTimer();
    this.#progress.begin(image.layers);
    onPull?.(this.#progress.now);
    if (this.#progress.totalBytes > gbMax * BYTES_PER_GB) throw tooLarge(gbMax);
    return { registry, image, config: await this.#orAborted(registry.config(image)) };
  }

  /** Streams the layers into the engine. @param tag of the image there */
  async fetch({ registry, image, config }: FoundImage, tag: string): Promise<void> {
    const { docker, gbMax, logger } = this.#deps;
    const archive = imageArchive({
      registry,
      image,
      config,
      tag,
      gbMax,
      reserveRoom: (bytes) => this.#reserveRoom(bytes),
      onBytes: ({ digest }, bytesDone) => {
        this.#progress.fetched(digest, bytesDone);
        this.#onProgress();
      },
    });
    await this.#load(Readable.from(archive, { objectMode: false }), { image, config });
    const { Size: bytes } = await this.#orAborted(this.#ofEngine(docker.getImage(tag).inspect()));
    this.#progress.loaded();
    this.#request.onPull?.(this.#progress.now);
    logger.info({ image: this.#request.image, pinned: tag, bytes }, 'Image pulled');
  }

  /**
   * The engine receives the whole archive before it unpacks, and then cannot be stopped.
   * @throws ImageFailure `no_room` if the disk has no room for this image and those that are being unpacked
   */
  async #reserveRoom(bytes: number): Promise<void> {
    const { roomBytes, removeUnused, loading } = this.#deps;
    const isReserved = async () => {
      const room = await roomBytes();
      const others = loading.values().filter((pull) => pull !== this);
      const promised = others.reduce((sum, other) => sum + other.#unpackedBytes, 0);
      if (promised + bytes > room) return false;
      this.#unpackedBytes = bytes;
      return true;
    };
    if (await isReserved()) return;
    await removeUnused(isReserved);
    if (await isReserved()) return;
    throw new ImageFailure('no_room', NO_ROOM);
  }

  /** Its limit is below that of a stalled pull, which would be a fault of the image. */
  #ofEngine<T>(answer: Promise<T>): Promise<T> {
    const { answerMsMax = ENGINE_ANSWER_MS_MAX } = this.#deps;
    return answeredBy(answer, answerMsMax).catch(unlessAnswered);
  }

  async #load(body: Readable, found: Pick<FoundImage, 'image' | 'config'>): Promise<void> {
    const { docker, loading } = this.#deps;
    const sending = new AbortController();
    let failure: unknown;
    body.on('error', (error) => {
      failure = error;
      sending.abort(error);
    });
    body.once('end', () => {
      this.#isHandedOver = true;
    });
    const load = async () => {
      const options = { quiet: '0', abortSignal: sending.signal };
      const answer = await docker.loadImage(body, options).catch(unlessAnswered);
      await this.#follow(answer as Readable, found).catch((error: unknown) => {
        throw error instanceof ImageFailure ? error : engineFails(error);
      });
    };
    loading.add(this);
    const loaded = load().finally(() => loading.delete(this)); // also when the caller has disconnected before
    await this.#orAborted(loaded).catch((error: unknown) => {
      if (!this.#isHandedOver) {
        sending.abort();
        body.destroy();
      }
      throw failure ?? error;
    });
  }

  /** Reads the engine's progress in unpacking. */
  async #follow(
    answer: Readable,
    { image: { layers }, config: { diffIds } }: Pick<FoundImage, 'image' | 'config'>,
  ): Promise<void> {
    const shortIdOf = (diffId: string) => diffId.slice('sha256:'.length).slice(0, SHORT_ID_CHARS);
    const layerOf = new Map(diffIds.map((diffId, at) => [shortIdOf(diffId), layers[at]?.digest]));
    for await (const line of linesOf(answer)) {
      const { id, progressDetail, error } = loadEvent.parse(JSON.parse(line));
      if (error)
        throw new ImageFailure('failed', 'the engine of its host cannot unpack it', new Error(error));
      const digest = layerOf.get(id ?? '');
      if (digest !== undefined) this.#progress.unpacked(digest, progressDetail?.current ?? 0);
      this.#onProgress();
    }
  }

  /** Called after each step. */
  #onProgress(): void {
    if (this.#abort.signal.aborted) return; // the engine unpacks, and the caller has disconnected
    this.#restartStallTimer();
    this.#request.onPull?.(this.#progress.now);
    if (!this.#deps.hasRoom()) this.#abort.abort(new ImageFailure('no_room', NO_ROOM));
  }

  #restartStallTimer(): void {
    const { stalledMsMax = STALLED_MS_MAX } = this.#deps;
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(
      () => this.#giveUp('stalled', `no progress for ${stalledMsMax / 1_000} s`),
      stalledMsMax,
    );
  }

  #giveUp(reason: ImageFailureReason, why: string): void {
    this.#abort.abort(new ImageFailure(reason, `${why} (${this.#progress})`));
  }

  /** The result of `work`, or a rejection when the pull is aborted. */
  async #orAborted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    work.catch(() => {}); // handled below unless the abort came first
    try {
      return await Promise.race([work, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}

/** All addresses of this host, public ones too: its services are not for renters. */
function hostAddresses(): Set<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address)),
  );
}
