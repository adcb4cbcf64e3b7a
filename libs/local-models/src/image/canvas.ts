// A grid of RGB pixels, and how shapes are drawn on it.
import type { Turns } from '../turns.ts';
import { mixed, type Rgb } from './colours.ts';
import type { Outline } from './outlines.ts';

/** Where a shape is drawn: the square from -1 to 1 of its outline maps to this one, in pixels. */
export interface Place {
  x: number;
  y: number;
  /** Half the width and half the height. */
  halfWidth: number;
  halfHeight: number;
}

/** Samples of a pixel in each direction, for smooth edges. */
const SAMPLES = 3;

export class Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint8Array(3 * width * height);
  }

  async fillGradient(top: Rgb, bottom: Rgb, turns: Turns): Promise<void> {
    for (let y = 0; y < this.height; y += 1) {
      const colour = mixed(top, bottom, y / Math.max(1, this.height - 1));
      for (let x = 0; x < this.width; x += 1) this.#set(x, y, colour);
      if (turns.over) await turns.next();
    }
  }

  async fillShape(outline: Outline, place: Place, colour: Rgb, turns: Turns): Promise<void> {
    const { x: cx, y: cy, halfWidth, halfHeight } = place;
    const [left, right] = [
      Math.max(0, Math.floor(cx - halfWidth)),
      Math.min(this.width, Math.ceil(cx + halfWidth)),
    ];
    const [top, bottom] = [
      Math.max(0, Math.floor(cy - halfHeight)),
      Math.min(this.height, Math.ceil(cy + halfHeight)),
    ];
    for (let y = top; y < bottom; y += 1) {
      for (let x = left; x < right; x += 1) {
        const share = coverage(
          outline,
          (x - cx) / halfWidth,
          (y - cy) / halfHeight,
          1 / halfWidth,
          1 / halfHeight,
        );
        if (share > 0) this.#blend(x, y, colour, share);
      }
      if (turns.over) await turns.next();
    }
  }

  /** A rectangle of whole pixels with the opacity `share`. */
  fillRectangle(left: number, top: number, width: number, height: number, colour: Rgb, share = 1): void {
    for (let y = Math.max(0, top); y < Math.min(this.height, top + height); y += 1)
      for (let x = Math.max(0, left); x < Math.min(this.width, left + width); x += 1)
        this.#blend(x, y, colour, share);
  }

  #blend(x: number, y: number, colour: Rgb, share: number): void {
    const at = 3 * (y * this.width + x);
    const under: Rgb = [this.pixels[at] ?? 0, this.pixels[at + 1] ?? 0, this.pixels[at + 2] ?? 0];
    this.#set(x, y, share >= 1 ? colour : mixed(under, colour, share));
  }

  #set(x: number, y: number, colour: Rgb): void {
    this.pixels.set(colour, 3 * (y * this.width + x));
  }
}

/** The share of one pixel that the outline covers; `u`, `v` is its corner, `du`, `dv` its size. */
function coverage(outline: Outline, u: number, v: number, du: number, dv: number): number {
  let inside = 0;
  for (let row = 0; row < SAMPLES; row += 1)
    for (let column = 0; column < SAMPLES; column += 1)
      if (outline(u + ((column + 0.5) / SAMPLES) * du, v + ((row + 0.5) / SAMPLES) * dv)) inside += 1;
  return inside / (SAMPLES * SAMPLES);
}
