// The inputs of a job, stored separately because records and events must never contain a prompt or an image. The store
// `video-inputs` holds up to three objects per job: the fields of the request, its first frame, and its callback URL,
// which is needed without the rest.
import type { ObjectStore } from '@switchyard/bus';
import { type VideosRequest, videosRequest } from '@switchyard/contracts';
import { parseExactly, type VideoImage, type VideoJob } from '@switchyard/model-router/video';

/** The fields of a request; of its first frame only the media type. */
type StoredFields = Omit<VideoJob, 'id' | 'image'> & { image: string | null };

/** Input data that a job's record keeps. */
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
    const further = Object.entries(request).filter(([name]) => !Object.hasOwn(videosRequest.shape, name));
    const fields: StoredFields = {
      prompt: request.prompt,
      duration: request.duration,
      resolution: request.resolution ?? null,
      aspectRatio: request.aspect_ratio ?? null,
      generateAudio: request.generate_audio ?? null,
      seed: request.seed ?? null,
      providerOptions: request.provider_options ?? {},
      further: Object.fromEntries(further),
      image: image?.mediaType ?? null,
    };
    if (image) await this.#objects.put(imageOf(id), image.bytes);
    const callbackUrl = request.callback_url ?? null;
    if (callbackUrl !== null) await this.#objects.put(callbackOf(id), Buffer.from(callbackUrl));
    const stored = await this.#objects.put(fieldsOf(id), Buffer.from(JSON.stringify(fields)));
    return { bytes: stored.bytes + (image?.bytes.length ?? 0), callbackUrl };
  }

  /** Reads neither fields nor first frame. No bytes and no URL when the input was already deleted. */
  async summary(id: string): Promise<InputSummary> {
    const [fields, image] = [await this.#objects.info(fieldsOf(id)), await this.#objects.info(imageOf(id))];
    const callbackUrl = await this.#read(callbackOf(id));
    return {
      bytes: (fields?.bytes ?? 0) + (image?.bytes ?? 0),
      callbackUrl: callbackUrl?.toString('utf8') ?? null,
    };
  }

  /** Null when the input was already deleted. */
  async read(id: string): Promise<VideoJob | null> {
    const stored = await this.#read(fieldsOf(id));
    if (!stored) return null;
    const { image: mediaType, ...fields } = parseExactly(stored.toString('utf8')) as StoredFields;
    if (mediaType === null) return { id, ...fields, image: null };
    const bytes = await this.#read(imageOf(id));
    return bytes && { id, ...fields, image: { mediaType, bytes } };
  }

  async delete(id: string): Promise<void> {
    await this.#objects.delete(fieldsOf(id));
    await this.#objects.delete(imageOf(id));
    await this.#objects.delete(callbackOf(id));
  }

  async #read(name: string): Promise<Buffer | null> {
    const stored = await this.#objects.get(name);
    if (!stored) return null;
    return Buffer.concat(await Array.fromAsync(stored));
  }
}

function fieldsOf(id: string): string {
  return `${id}.json`;
}

function imageOf(id: string): string {
  return `${id}.image`;
}

function callbackOf(id: string): string {
  return `${id}.callback`;
}
