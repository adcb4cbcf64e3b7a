// What a caller asked for, checked against the platform's limits, its gaps filled.
import {
  type ComputerLimits,
  type CreateComputerRequest,
  ServiceError,
  STANDARD_IMAGE,
} from '@switchyard/contracts';
import { checkImageReference } from './image-reference.ts';
import type { Wanted } from './placement.ts';

/** @throws ServiceError `invalid_request` naming the setting. */
export function wantedComputer(body: CreateComputerRequest, limits: ComputerLimits): Wanted {
  return {
    image: imageOf(body.image),
    cpu: inRange('cpu', body.cpu, limits.cpu),
    memoryMb: inRange('memory_mb', body.memory_mb, limits.memoryMb),
  };
}

const STANDARD_REPOSITORY = STANDARD_IMAGE.slice(0, STANDARD_IMAGE.lastIndexOf(':'));

function imageOf(image: string = STANDARD_IMAGE): string {
  checkImageReference(image);
  return image === STANDARD_REPOSITORY ? STANDARD_IMAGE : image;
}

/** Steps are counted in exact binary fractions (0.25, 256), so this remainder is exact too. */
function inRange(
  param: string,
  value: number | undefined,
  { min, max, step, default: standard }: ComputerLimits['cpu'],
): number {
  if (value === undefined) return standard;
  const refuse = (why: string) => new ServiceError('invalid_request', `${param}: ${why}`, { param });
  if (value < min) throw refuse(`${value} is under the smallest, ${min}`);
  if (value > max) throw refuse(`${value} is over the largest, ${max}`);
  if (value % step !== 0) throw refuse(`${value} is no multiple of ${step}`);
  return value;
}
