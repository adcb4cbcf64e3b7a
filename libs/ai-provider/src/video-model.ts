// Videos: starts a job, waits for it by polling or webhook, then downloads the video.
import type {
  Experimental_VideoModelV4CallOptions as CallOptions,
  JSONValue,
  SharedV4Warning,
  Experimental_VideoModelV4OperationStartResult as StartResult,
  Experimental_VideoModelV4OperationStatusResult as StatusResult,
  Experimental_VideoModelV4File as VideoFile,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import { convertToBase64 } from '@ai-sdk/provider-utils';
import { type VideoObject, videoObject } from '@switchyard/contracts';
import { z } from 'zod';
import { download, extraFields, getJson, NAME, postJson, SwitchyardModel } from './call-api.ts';

const operation = z.object({ id: z.string() });

type StatusOptions = Parameters<NonNullable<VideoModelV4['doStatus']>>[0];
type WebhookOption = Parameters<NonNullable<VideoModelV4['handleWebhookOption']>>[0];

export class SwitchyardVideoModel extends SwitchyardModel implements VideoModelV4 {
  readonly provider = `${NAME}.video`;
  readonly maxVideosPerCall = 1;

  async doStart(options: CallOptions & { webhookUrl?: string }): Promise<StartResult> {
    const { prompt, duration, resolution, generateAudio, seed, webhookUrl, providerOptions } = options;
    const warnings: SharedV4Warning[] = unsupportedOptionWarnings(options);
    const first = options.frameImages?.find(({ frameType }) => frameType === 'first_frame')?.image;
    const image = first ?? options.image;
    const body = {
      model: this.modelId,
      prompt,
      duration,
      resolution,
      aspect_ratio: options.aspectRatio === 'adaptive' ? undefined : options.aspectRatio,
      generate_audio: generateAudio,
      image: image && urlOf(image),
      seed,
      callback_url: webhookUrl,
      ...extraFields(providerOptions),
    };
    const { value, response } = await postJson(
      this.access,
      '/videos/generations',
      body,
      videoObject,
      options,
    );
    return {
      operation: { id: value.id },
      warnings,
      providerMetadata: metadataOf(value),
      response: { ...response, ...responseOf(value) },
    };
  }

  async doStatus(options: StatusOptions): Promise<StatusResult> {
    const { id } = operation.parse(options.operation satisfies JSONValue);
    const path = `/videos/${encodeURIComponent(id)}`;
    const { value, response } = await getJson(this.access, path, videoObject, options);
    const metadata = { providerMetadata: metadataOf(value), response: { ...response, ...responseOf(value) } };
    switch (value.status) {
      case 'pending':
        return { status: 'pending', ...metadata };
      case 'failed':
        return { status: 'error', error: value.error?.message ?? 'the video could not be made', ...metadata };
      case 'completed':
        return { status: 'completed', videos: await this.#videos(value, options), warnings: [], ...metadata };
    }
  }

  /** The webhook only signals the end of the job; its status is then requested as usual. */
  async handleWebhookOption({ webhook }: WebhookOption) {
    const { url, received } = await webhook();
    return { webhookUrl: url, received };
  }

  /** Downloads the videos here: URLs expire after an hour and may be local, which the SDK itself refuses to fetch. */
  #videos({ videos = [] }: VideoObject, options: StatusOptions) {
    return Promise.all(
      videos.map(async ({ url, media_type: mediaType }) => {
        const { value: data } = await download(this.access, url, options);
        return { type: 'binary' as const, data, mediaType };
      }),
    );
  }
}

function metadataOf({ id, usage }: VideoObject) {
  return { [NAME]: { id, cost: usage.cost, seconds: usage.seconds } };
}

function responseOf({ model, created_at }: VideoObject) {
  return { timestamp: new Date(created_at), modelId: model };
}

function urlOf(file: VideoFile): string {
  if (file.type === 'url') return file.url;
  return `data:${file.mediaType};base64,${convertToBase64(file.data)}`;
}

function unsupportedOptionWarnings({
  fps,
  aspectRatio,
  inputReferences,
  frameImages,
}: CallOptions): SharedV4Warning[] {
  const features = {
    fps: fps !== undefined,
    inputReferences: (inputReferences?.length ?? 0) > 0,
    'last_frame in frameImages': frameImages?.some(({ frameType }) => frameType === 'last_frame') === true,
    'aspectRatio adaptive': aspectRatio === 'adaptive',
  };
  return Object.entries(features)
    .filter(([, asked]) => asked)
    .map(([feature]) => ({ type: 'unsupported', feature }));
}
