// Images: converts OpenAI's request and answer for an AI SDK image model. The provider package downloads images by URL,
// from public addresses only; the caller always gets base64.
import type { ImageModelV4 } from '@ai-sdk/provider';
import type { imagesRequest } from '@switchyard/contracts';
import type { z } from 'zod';
import { UnusableAnswer } from '../unusable-answer.ts';
import { callEach, sumOfAll } from './calls-in-parts.ts';
import { refusalIn } from './content-refused.ts';
import { type FieldsOfType, fieldsFor, type Given } from './field-rules.ts';
import { jsonAnswer, type Translation, type TranslationRequest, UnsupportedField } from './translation.ts';
import { refuseIgnored } from './warnings.ts';

const FIELDS: FieldsOfType = {
  read: ['prompt', 'n', 'size', 'aspect_ratio', 'seed', 'response_format'],
  known: ['quality', 'style', 'background', 'moderation', 'output_format', 'output_compression'],
};

type Asked = z.infer<typeof imagesRequest>;
type Fields = Given<Asked>;

export const answerImages: Translation<'image'> = async (model, request) => {
  const asked = fieldsFor<Asked>(request, FIELDS);
  const counts = await imagesOfEachCall(model, request, asked.n ?? 1);
  const results = await callEach(counts, request.signal, (n, index, abortSignal) =>
    generate(model, request, { ...asked, n, seed: seedOf(asked, counts, index) }, abortSignal),
  );
  for (const { warnings } of results) refuseIgnored(warnings, asked);
  const images = results.flatMap(({ images: some }) => some.map(base64));
  return jsonAnswer({
    created: Math.floor(request.now() / 1000),
    data: images.map((b64_json) => ({ b64_json })),
    // The router estimates counts that are missing.
    usage: {
      input_tokens: sumOfAll(results.map(({ usage }) => usage?.inputTokens)),
      output_tokens: sumOfAll(results.map(({ usage }) => usage?.outputTokens)),
    },
  });
};

type Result = Awaited<ReturnType<ImageModelV4['doGenerate']>>;

async function generate(
  model: ImageModelV4,
  { rules }: TranslationRequest,
  { prompt, n = 1, size, aspect_ratio: ratio, seed }: Fields,
  abortSignal: AbortSignal,
): Promise<Result> {
  let result: Result;
  try {
    result = await model.doGenerate({
      prompt,
      n,
      size: size === 'auto' ? undefined : (size as `${number}x${number}` | undefined),
      aspectRatio: ratio as `${number}:${number}` | undefined,
      seed,
      files: undefined,
      mask: undefined,
      providerOptions: { ...rules.options },
      abortSignal,
    });
  } catch (error) {
    throw refusalIn(error) ?? error;
  }
  // A refusing model returns no image, and the provider package says whether a retry may help.
  if (result.images.length === 0) throw refusalIn(result) ?? new UnusableAnswer('the answer has no image');
  // The caller must not pay for more images than requested.
  return { ...result, images: result.images.slice(0, n) as Result['images'] };
}

/** Number of images per call. */
async function imagesOfEachCall(
  model: ImageModelV4,
  { rules }: TranslationRequest,
  n: number,
): Promise<number[]> {
  const { maxImagesPerCall: max, modelId } = model;
  const perCall = rules.perCall ?? (typeof max === 'function' ? await max({ modelId }) : max) ?? n;
  const calls = Math.ceil(n / Math.max(1, perCall));
  return Array.from({ length: calls }, (_, index) => Math.min(perCall, n - index * perCall));
}

/** Each call has its own seed, since equal seeds give equal images; the same request gives the same seeds. */
function seedOf({ seed }: Fields, counts: readonly number[], index: number): number | undefined {
  if (seed === undefined) return undefined;
  return seed + counts.slice(0, index).reduce((sum, count) => sum + count, 0);
}

function base64(image: string | Uint8Array): string {
  if (typeof image === 'string') return image;
  return Buffer.from(image.buffer, image.byteOffset, image.length).toString('base64');
}

/** For makers with `aspect_ratio` only. */
export const NO_SIZE = 'does not support size. Use aspect_ratio.';
/** For makers with sizes only. */
export const NO_ASPECT_RATIO = 'does not support aspect_ratio. Use size.';
export const NO_SEED = 'does not support seed. Remove it.';

/** The two numbers of `<width>x<height>`. */
export function sizeOf(size: unknown): Record<'width' | 'height', number> {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(String(size)) ?? [];
  if (width === undefined || height === undefined)
    throw new UnsupportedField('size', 'Use <width>x<height>.');
  return { width: Number(width), height: Number(height) };
}
