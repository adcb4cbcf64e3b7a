// Validates a requested computer against the platform's limits and fills in the defaults.
import {
  type ComputerLimits,
  type ComputerOptions,
  type ComputerSpec,
  type CreateComputerRequest,
  invalidParam,
  isImageReference,
  MINUTE_MS,
  STANDARD_IMAGE,
} from '@switchyard/contracts';
import { computerName } from './computer-name.ts';

/**
 * @param random a number from 0 up to, but not including, 1
 * @throws ServiceError `invalid_request` that names the parameter
 */
export function specOf(
  { stream: _, ...chosen }: CreateComputerRequest,
  { limits, random }: { readonly limits: ComputerLimits; readonly random: () => number },
): ComputerSpec {
  checkIdleStop(chosen.idle_stop_minutes, limits);
  return {
    ...chosen,
    name: chosen.name ?? computerName(random),
    image: imageOf(chosen.image),
    cpu: inRange('cpu', chosen.cpu, limits.options.cpu),
    memory_mb: inRange('memory_mb', chosen.memory_mb, limits.options.memory_mb),
    disk_gb: limits.diskGb,
  };
}

const STANDARD_REPOSITORY = STANDARD_IMAGE.slice(0, STANDARD_IMAGE.lastIndexOf(':'));

function imageOf(image: string = STANDARD_IMAGE): string {
  if (!isImageReference(image))
    throw invalidParam('image', `${JSON.stringify(image)} is not an image reference`);
  return image === STANDARD_REPOSITORY ? STANDARD_IMAGE : image;
}

/** The schema has the minimum. */
function checkIdleStop(minutes: number | undefined, { maxLifetimeMs }: ComputerLimits): void {
  const max = Math.ceil(maxLifetimeMs / MINUTE_MS);
  if (minutes !== undefined && minutes > max)
    throw invalidParam(
      'idle_stop_minutes',
      `${minutes} is too large: a computer stops ${max} minutes after its start. Use at most ${max}.`,
    );
}

/** Steps are exact binary fractions (0.25, 256), so the remainder is exact too. */
function inRange(
  param: string,
  value: number | undefined,
  { min, max, step, default: standard }: ComputerOptions['cpu'],
): number {
  if (value === undefined) return standard;
  const refuse = (why: string) => invalidParam(param, why);
  if (value < min) throw refuse(`${value} is too small. Use at least ${min}.`);
  if (value > max) throw refuse(`${value} is too large. Use at most ${max}.`);
  if (value % step !== 0) throw refuse(`${value} is not allowed. Use a multiple of ${step}.`);
  return value;
}
