// The size of a picture.
import { LocalRefusal } from '../local-refusal.ts';

const IMAGE_SIDE_DEFAULT = 1_024;
export const IMAGE_SIDE_MIN = 64;
export const IMAGE_SIDE_MAX = 2_048;
/** Sides by an aspect ratio are multiples of this. */
const SIDE_STEP = 8;

interface ImageSize {
  width: number;
  height: number;
}

interface Asked {
  size?: string | null | undefined;
  aspect_ratio?: string | null | undefined;
}

/** @throws LocalRefusal naming `size` or `aspect_ratio` */
export function imageSize({ size, aspect_ratio: ratio }: Asked): ImageSize {
  if (size && size !== 'auto') {
    const [width = 0, height = 0] = size.split('x').map(Number);
    return checked({ width, height }, 'size');
  }
  if (!ratio) return { width: IMAGE_SIDE_DEFAULT, height: IMAGE_SIDE_DEFAULT };
  const [across = 0, down = 0] = ratio.split(':').map(Number);
  if (across === 0 || down === 0) throw refused('aspect_ratio', 'both sides must be above 0');
  // As many pixels as the default has, whatever the shape.
  const stretch = Math.sqrt(across / down);
  const side = (length: number) => Math.round(length / SIDE_STEP) * SIDE_STEP;
  return checked(
    { width: side(IMAGE_SIDE_DEFAULT * stretch), height: side(IMAGE_SIDE_DEFAULT / stretch) },
    'aspect_ratio',
  );
}

function checked(size: ImageSize, param: string): ImageSize {
  for (const side of [size.width, size.height])
    if (side < IMAGE_SIDE_MIN || side > IMAGE_SIDE_MAX)
      throw refused(param, `each side must have ${IMAGE_SIDE_MIN} to ${IMAGE_SIDE_MAX} pixels, not ${side}`);
  return size;
}

function refused(param: string, message: string): LocalRefusal {
  return new LocalRefusal(400, 'invalid_request', message, param);
}
