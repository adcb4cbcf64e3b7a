import type {
  ImageModelV4,
  ImageModelV4CallOptions,
  ImageModelV4Result,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { IMAGES_PER_REQUEST_MAX, imagesResult } from '@switchyard/contracts';
import { extraFields, NAME, NANOS_PER_DOLLAR, postJson, SwitchyardModel } from './call-api.ts';

export class SwitchyardImageModel extends SwitchyardModel implements ImageModelV4 {
  readonly provider = `${NAME}.image`;
  readonly maxImagesPerCall = IMAGES_PER_REQUEST_MAX;
  readonly supportsFileInputs = false;
  readonly supportsMaskInputs = false;

  async doGenerate(options: ImageModelV4CallOptions): Promise<ImageModelV4Result> {
    const { prompt, n, size, aspectRatio, seed, providerOptions } = options;
    const body = {
      model: this.modelId,
      prompt,
      n,
      size,
      aspect_ratio: aspectRatio,
      seed,
      ...extraFields(providerOptions),
    };
    const { value, response } = await postJson(
      this.access,
      '/images/generations',
      body,
      imagesResult,
      options,
    );
    const { input_tokens: inputTokens, output_tokens: outputTokens, cost } = value.usage;
    return {
      images: value.data.map((image) => image.b64_json),
      warnings: unsupportedOptionWarnings(options),
      usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
      // The SDK keeps only `images` of a result's metadata. Each image has its share; the shares add up to the cost.
      providerMetadata: {
        [NAME]: { cost, images: shares(cost, value.data.length).map((share) => ({ cost: share })) },
      },
      response: {
        timestamp: new Date(value.created * 1_000),
        modelId: value.model,
        headers: response.headers,
      },
    };
  }
}

/** Equal parts in whole nano-dollars; the remainder goes to the first parts, so the sum is exact. */
function shares(cost: number, count: number): number[] {
  const nanos = Math.round(cost * NANOS_PER_DOLLAR);
  const part = Math.floor(nanos / count);
  return Array.from(
    { length: count },
    (_, index) => (index === 0 ? nanos - part * (count - 1) : part) / NANOS_PER_DOLLAR,
  );
}

function unsupportedOptionWarnings({ files, mask }: ImageModelV4CallOptions): SharedV4Warning[] {
  const details = 'images are made from a prompt only';
  return [
    ...(files?.length ? [{ type: 'unsupported' as const, feature: 'files', details }] : []),
    ...(mask ? [{ type: 'unsupported' as const, feature: 'mask', details }] : []),
  ];
}
