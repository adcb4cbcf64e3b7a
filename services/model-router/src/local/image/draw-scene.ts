// Lays the things of a scene out and draws them: land first, then what hangs in the sky, what stands on the ground, and
// the figures in front, in cells of a grid so that they can be counted.
import type { Turns } from '../turns.ts';
import { Canvas, type Place } from './canvas.ts';
import { CAPTION_SHARE_MAX, drawCaption } from './caption.ts';
import { mixed, type Rgb, WHITE } from './colours.ts';
import type { Scene, SceneItem } from './read-prompt.ts';
import { ABSTRACT_FIGURES, type Thing, thingOf, type Zone } from './things.ts';

/** Pictures are the same for the same numbers. */
export type Random = () => number;

interface Figure {
  thing: Thing;
  colour: Rgb;
  scale: number;
}

/** A part of the picture, in shares of its width and height. */
interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const CAPTION_FREE: Region = { left: 0.02, top: 0.03, right: 0.98, bottom: 1 - CAPTION_SHARE_MAX };
const REGIONS: Readonly<Record<Exclude<Zone, 'land'>, Region>> = {
  sky: { ...CAPTION_FREE, bottom: 0.42 },
  ground: { ...CAPTION_FREE, top: 0.4 },
  figure: CAPTION_FREE,
};
const HORIZON = 0.62;
/** Share of its cell that a thing fills at scale 1, and how far it may stray in what is left. */
const CELL_SHARE = 0.62;
const ABSTRACT_COUNT = 5;

export async function drawScene(
  scene: Scene,
  prompt: string,
  size: { width: number; height: number },
  random: Random,
  turns: Turns,
): Promise<Canvas> {
  const canvas = new Canvas(size.width, size.height);
  await canvas.fillGradient(scene.top, scene.bottom, turns);
  const figures = toFigures(scene, random);
  await drawLand(canvas, figures, turns);
  const alone = figures.every(({ thing }) => thing.zone === 'sky');
  for (const zone of ['sky', 'ground', 'figure'] as const) {
    // Stars with nothing below them take the whole picture.
    const region = zone === 'sky' && alone ? CAPTION_FREE : REGIONS[zone];
    const inZone = figures.filter(({ thing }) => thing.zone === zone);
    const places = layOut(inZone, canvas, region, random);
    for (const [index, figure] of inZone.entries()) await drawFigure(canvas, figure, places[index], turns);
  }
  drawCaption(canvas, prompt);
  return canvas;
}

function toFigures({ items, looseColours }: Scene, random: Random): Figure[] {
  if (items.length === 0) return abstractFigures(looseColours, random);
  return items.flatMap((item: SceneItem) =>
    Array.from({ length: item.count }, () => ({ thing: item.thing, colour: item.colour, scale: item.scale })),
  );
}

/** Of what cannot be drawn there is a pattern in the colours that were named, or in any. */
function abstractFigures(colours: Rgb[], random: Random): Figure[] {
  return Array.from({ length: ABSTRACT_COUNT }, (_, index) => {
    const name = ABSTRACT_FIGURES[Math.floor(random() * ABSTRACT_FIGURES.length)] ?? 'circle';
    const thing = (thingOf(name) as { thing: Thing }).thing;
    const colour = colours[index % Math.max(1, colours.length)] ?? anyColour(random);
    return { thing, colour, scale: 0.7 + 0.6 * random() };
  });
}

function anyColour(random: Random): Rgb {
  return mixed([40 + 200 * random(), 40 + 200 * random(), 40 + 200 * random()], WHITE, 0);
}

async function drawLand(canvas: Canvas, figures: Figure[], turns: Turns): Promise<void> {
  const lands = figures.filter(({ thing }) => thing.zone === 'land');
  const standing = figures.some(({ thing }) => thing.zone === 'ground');
  if (lands.length === 0 && standing) {
    const meadow = (thingOf('meadow') as { thing: Thing }).thing;
    lands.push({ thing: meadow, colour: meadow.colour, scale: 1 });
  }
  for (const [index, { thing, colour }] of lands.entries()) {
    const top = HORIZON + ((1 - HORIZON) * index) / lands.length;
    const halfHeight = (canvas.height * (1 - top)) / 2;
    const place = {
      x: canvas.width / 2,
      y: canvas.height - halfHeight,
      halfWidth: canvas.width / 2,
      halfHeight,
    };
    for (const { outline } of thing.parts) await canvas.fillShape(outline, place, colour, turns);
  }
}

/** One cell of a grid for each figure: none touches another. */
function layOut(figures: Figure[], { width, height }: Canvas, region: Region, random: Random): Place[] {
  const regionWidth = (region.right - region.left) * width;
  const regionHeight = (region.bottom - region.top) * height;
  const columns = Math.max(1, Math.round(Math.sqrt((figures.length * regionWidth) / regionHeight)));
  const rows = Math.ceil(figures.length / columns);
  const cellWidth = regionWidth / Math.min(columns, figures.length);
  const cellHeight = regionHeight / rows;
  const cell = Math.min(cellWidth, cellHeight);
  return figures.map(({ scale }, index) => {
    const half = (cell * Math.min(CELL_SHARE * scale, 0.94)) / 2;
    const stray = (extent: number) => (random() - 0.5) * Math.max(0, extent - 2 * half - 2);
    const column = index % columns;
    const row = Math.floor(index / columns);
    return {
      x: region.left * width + (column + 0.5) * cellWidth + stray(cellWidth),
      y: region.top * height + (row + 0.5) * cellHeight + stray(cellHeight),
      halfWidth: half,
      halfHeight: half,
    };
  });
}

async function drawFigure(
  canvas: Canvas,
  figure: Figure,
  place: Place | undefined,
  turns: Turns,
): Promise<void> {
  if (!place) return;
  for (const { outline, colour } of figure.thing.parts)
    await canvas.fillShape(outline, place, colour ?? figure.colour, turns);
}
