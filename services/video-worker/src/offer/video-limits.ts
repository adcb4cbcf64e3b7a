// Checks a request against a model's own limits (`limits` in the catalog) and names the field at fault, before the job
// is charged and sent to the maker.
import {
  type CatalogModel,
  invalidParam,
  type ServiceError,
  type VideosRequest,
} from '@switchyard/contracts';
import { z } from 'zod';

/** Limits are free-form: a value of another shape under these names is information for clients and is not enforced. */
const names = z.array(z.string()).min(1).optional().catch(undefined);
const range = z.looseObject({
  min: z.number().optional(),
  max: z.number().optional(),
  step: z.number().positive().optional(),
});

const videoLimits = z.looseObject({
  /** Seconds: a list of allowed lengths, or a range. */
  durations: z
    .union([z.array(z.int()).min(1), range])
    .optional()
    .catch(undefined),
  /** Names and sizes that the model accepts; with `sides`, also any size within that range. */
  resolutions: names,
  /** Pixels per side of a size; `resolutions` need not list such sizes. */
  sides: range.optional().catch(undefined),
  aspect_ratios: names,
  /** Whether the model makes sound; when missing, the maker decides. */
  audio: z.boolean().optional().catch(undefined),
  /** Resolution of the result when the request names none. */
  default_resolution: z.string().optional().catch(undefined),
});
type VideoLimits = z.infer<typeof videoLimits>;

export function defaultResolutionOf(model: CatalogModel): string | null {
  return videoLimits.parse(model.limits).default_resolution ?? null;
}

/** Why the model cannot make this video; null when it can. */
export function refusalOf(model: CatalogModel, request: VideosRequest): ServiceError | null {
  const limits = videoLimits.parse(model.limits);
  const { duration, aspect_ratio: ratio, generate_audio: audio, image } = request;
  const lengths = wrongDuration(limits, duration);
  if (lengths !== null) return invalidParam('duration', `not supported. ${model.id} makes ${lengths}.`);
  const sizes = wrongResolution(limits, request.resolution ?? null);
  if (sizes !== null) return invalidParam('resolution', `not supported. ${model.id} makes ${sizes}.`);
  if (ratio && limits.aspect_ratios && !limits.aspect_ratios.includes(ratio))
    return invalidParam(
      'aspect_ratio',
      `not supported. ${model.id} takes ${limits.aspect_ratios.join(', ')}.`,
    );
  if (audio && limits.audio === false)
    return invalidParam('generate_audio', `${model.id} makes no sound. Omit generate_audio.`);
  if (image && !model.modalities.input.includes('image'))
    return invalidParam('image', `${model.id} makes videos from text only. Omit image.`);
  if (!image && !model.modalities.input.includes('text'))
    return invalidParam('image', `${model.id} needs a first frame. Send image.`);
  return null;
}

/** Describes the allowed lengths when `seconds` is not one of them. */
function wrongDuration({ durations }: VideoLimits, seconds: number): string | null {
  if (durations === undefined) return null;
  if (Array.isArray(durations))
    return durations.includes(seconds) ? null : `videos of ${durations.join(', ')} seconds`;
  return within(durations, seconds) ? null : `videos of ${described(durations)} seconds`;
}

function wrongResolution({ resolutions, sides }: VideoLimits, resolution: string | null): string | null {
  if (resolution === null || (resolutions === undefined && sides === undefined)) return null;
  if (resolutions?.includes(resolution)) return null;
  const [width, height] = resolution.split('x').map(Number);
  if (sides && width && height && within(sides, width) && within(sides, height)) return null;
  if (sides && !resolutions && !height) return null; // `sides` limits sizes only, and this resolution is a name
  const parts = [
    ...(resolutions ?? []),
    ...(sides ? [`sizes with sides of ${described(sides)} pixels`] : []),
  ];
  return parts.join(', ');
}

type Range = z.infer<typeof range>;

function within({ min, max, step }: Range, value: number): boolean {
  if (value < (min ?? value) || value > (max ?? value)) return false;
  return step === undefined || (value - (min ?? 0)) % step === 0;
}

function described({ min, max, step }: Range): string {
  const steps = step === undefined || step === 1 ? '' : ` in steps of ${step}`;
  if (min === undefined) return `at most ${max}${steps}`;
  return `${max === undefined ? `at least ${min}` : `${min} to ${max}`}${steps}`;
}
