// The inputs of a job, stored separately because records and events must never contain a prompt or an image. The store
// `video-inputs` holds up to three objects per job: the fields of the request, its first frame, and its callback URL,
// which is needed without the rest.
import type { ObjectStore } from '@switchyard/bus';
import { VIDEO_FIELDS, type VideosRequest } from '@switchyard/contracts';
import { parseExactly, type VideoImage, type VideoJob } from '@switchyard/model-router/video';
import { z } from 'zod';

const storedWords = z.object({
  prompt: z.string(),
  duration: z.int(),
  resolution: z.string().nullable(),
  aspect_ratio: z.string().nullable(),
  generate_audio: z.boolean().nullable(),
  seed: z.int().nullable(),
  provider_options: z.record(z.string(), z.unknown()),
  further: z.record(z.string(), z.unknown()),
  /** Media type of the first frame; null when there is none. */
  image: z.string().nullable(),
});
type StoredWords = z.infer<typeof storedWords>;

/** What the record of a job has of its input. */
export interface InputSummary {
  /** Bytes of the fields and the first frame. */
  bytes: number;
  callbackUrl: string | null;
}

export class InputStore {
  readonly #objects: ObjectStore;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  async put(id: string, request: VideosRequest, image: VideoImage | null): Promise<InputSummary> {
    const further = Object.entries(request).filter(([name]) => !VIDEO_FIELDS.includes(name));
    const words: StoredWords = {
      prompt: request.prompt,
      duration: request.duration,
      resolution: request.resolution ?? null,
      aspect_ratio: request.aspect_ratio ?? null,
      generate_audio: request.generate_audio ?? null,
      seed: request.seed ?? null,
      provider_options: request.provider_options ?? {},
      further: Object.fromEntries(further),
      image: image?.mediaType ?? null,
    };
    if (image) await this.#objects.put(imageOf(id), image.bytes);
    const callbackUrl = request.callback_url ?? null;
    if (callbackUrl !== null) await this.#objects.put(callbackOf(id), Buffer.from(callbackUrl));
    const stored = await this.#objects.put(wordsOf(id), Buffer.from(JSON.stringify(words)));
    return { bytes: stored.bytes + (image?.bytes.length ?? 0), callbackUrl };
  }

  /** Reads neither fields nor first frame. No bytes and no URL when the input was already deleted. */
  async summary(id: string): Promise<InputSummary> {
    const [words, image] = [await this.#objects.info(wordsOf(id)), await this.#objects.info(imageOf(id))];
    const callbackUrl = await this.#read(callbackOf(id));
    return {
      bytes: (words?.bytes ?? 0) + (image?.bytes ?? 0),
      callbackUrl: callbackUrl?.toString('utf8') ?? null,
    };
  }

  /** Null when the input was already deleted. */
  async read(id: string): Promise<VideoJob | null> {
    const words = await this.#words(id);
    if (!words) return null;
    const bytes = words.image === null ? null : await this.#read(imageOf(id));
    if (words.image !== null && bytes === null) return null;
    return {
      id,
      prompt: words.prompt,
      duration: words.duration,
      resolution: words.resolution,
      aspectRatio: words.aspect_ratio,
      generateAudio: words.generate_audio,
      image: words.image === null || bytes === null ? null : { mediaType: words.image, bytes },
      seed: words.seed,
      providerOptions: words.provider_options,
      further: words.further,
    };
  }

  async delete(id: string): Promise<void> {
    await this.#objects.delete(wordsOf(id));
    await this.#objects.delete(imageOf(id));
    await this.#objects.delete(callbackOf(id));
  }

  async #words(id: string): Promise<StoredWords | null> {
    const bytes = await this.#read(wordsOf(id));
    return bytes && storedWords.parse(parseExactly(bytes.toString('utf8')));
  }

  async #read(name: string): Promise<Buffer | null> {
    const stored = await this.#objects.get(name);
    if (!stored) return null;
    const chunks: Buffer[] = [];
    for await (const chunk of stored.body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

function wordsOf(id: string): string {
  return `${id}.json`;
}

function imageOf(id: string): string {
  return `${id}.image`;
}

function callbackOf(id: string): string {
  return `${id}.callback`;
}
