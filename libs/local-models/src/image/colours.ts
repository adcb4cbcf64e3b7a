// Colours by their names.

export type Rgb = readonly [red: number, green: number, blue: number];

const COLOURS: Readonly<Record<string, Rgb>> = {
  red: [220, 38, 38],
  crimson: [185, 28, 60],
  orange: [245, 130, 32],
  yellow: [250, 204, 21],
  gold: [234, 179, 8],
  golden: [234, 179, 8],
  green: [34, 160, 70],
  lime: [132, 204, 22],
  olive: [120, 120, 40],
  teal: [20, 150, 140],
  turquoise: [45, 200, 190],
  cyan: [6, 182, 212],
  blue: [37, 99, 235],
  navy: [23, 37, 84],
  indigo: [79, 70, 229],
  purple: [147, 51, 234],
  violet: [139, 92, 246],
  magenta: [217, 70, 239],
  pink: [244, 114, 182],
  brown: [130, 80, 40],
  beige: [232, 218, 190],
  black: [17, 17, 17],
  white: [255, 255, 255],
  gray: [128, 128, 128],
  grey: [128, 128, 128],
  silver: [192, 192, 200],
};

export const BLACK: Rgb = [0, 0, 0];
export const WHITE: Rgb = [255, 255, 255];

export function colourOf(word: string): Rgb | null {
  return Object.hasOwn(COLOURS, word) ? (COLOURS[word] ?? null) : null;
}

/** From `a` (share 0) to `b` (share 1). */
export function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  const part = (from: number, to: number) => Math.round(from + (to - from) * share);
  return [part(a[0], b[0]), part(a[1], b[1]), part(a[2], b[2])];
}
