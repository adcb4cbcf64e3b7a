// What a model's own limits (`limits` in the catalog) refuse of a video, naming the field: said by us, at once, instead
// of by the maker when the job is charged already.
import { type CatalogModel, ServiceError, type VideosRequest } from '@switchyard/contracts';
import { z } from 'zod';

/** Limits are free-form: one that says something else under these names is for clients to read, and forbids nothing. */
const names = z.array(z.string()).min(1).optional().catch(undefined);
const range = z.looseObject({
  min: z.number().optional(),
  max: z.number().optional(),
  step: z.number().positive().optional(),
});

const videoLimits = z.looseObject({
  /** Seconds: the lengths there are, or from where to where. */
  durations: z
    .union([z.array(z.int()).min(1), range])
    .optional()
    .catch(undefined),
  /** Names and sizes that it takes; where `sides` is given too, any size within that. */
  resolutions: names,
  /** Pixels of each side of a size, which `resolutions` need not list then. */
  sides: range.optional().catch(undefined),
  aspect_ratios: names,
  /** Whether it makes sound; where this is not said the maker is asked. */
  audio: z.boolean().optional().catch(undefined),
  /** What it makes where no resolution is asked for. */
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
  if (lengths !== null) return refuse('duration', `${model.id} makes ${lengths}`);
  const sizes = wrongResolution(limits, request.resolution ?? null);
  if (sizes !== null) return refuse('resolution', `${model.id} makes ${sizes}`);
  if (ratio && limits.aspect_ratios && !limits.aspect_ratios.includes(ratio))
    return refuse('aspect_ratio', `${model.id} takes ${limits.aspect_ratios.join(', ')}`);
  if (audio && limits.audio === false) return refuse('generate_audio', `${model.id} makes no sound`);
  if (image && !model.modalities.input.includes('image'))
    return refuse('image', `${model.id} makes videos from text only`);
  if (!image && !model.modalities.input.includes('text'))
    return refuse('image', `${model.id} needs a first frame`);
  return null;
}

/** What the lengths are, when this is none of them. */
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
  if (sides && !resolutions && !height) return null; // its sizes are limited, and this is a name
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

function refuse(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', `${param}: ${message}`, { param });
}
