// Resolutions in pixels, for makers that know no others.

interface VideoSize {
  width: number;
  height: number;
}

const RATIO_DEFAULT = '16:9';
/** Video encoders need an even side length. */
const SIDE_STEP = 2;

/** `720p` with `9:16` is 720x1280; a size is unchanged; null lets the model choose. */
export function videoSize(resolution: string, aspectRatio: string | null): VideoSize;
export function videoSize(resolution: string | null, aspectRatio: string | null): VideoSize | null;
export function videoSize(resolution: string | null, aspectRatio: string | null): VideoSize | null {
  if (resolution === null) return null;
  const size = /^(\d+)x(\d+)$/.exec(resolution);
  if (size) return { width: Number(size[1]), height: Number(size[2]) };
  const short = Number.parseInt(resolution, 10);
  const [across = 16, down = 9] = (aspectRatio ?? RATIO_DEFAULT).split(':').map(Number);
  const long = even((short * Math.max(across, down)) / Math.min(across, down));
  return across >= down ? { width: long, height: short } : { width: short, height: long };
}

export function sizeText(size: VideoSize): string {
  return `${size.width}x${size.height}`;
}

function even(pixels: number): number {
  return SIDE_STEP * Math.round(pixels / SIDE_STEP);
}
