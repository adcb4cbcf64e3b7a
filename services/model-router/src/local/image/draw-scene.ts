// Lays the things of a scene out and draws them, from the far ones to the near ones. Things of a kind of place stand in
// cells of their own, so that they can be counted.
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

/** Where the first land begins; a second lies in front of it. */
const HORIZON = 0.55;
const FREE: Region = { left: 0.02, top: 0.03, right: 0.98, bottom: 1 - CAPTION_SHARE_MAX };
const SKY: Region = { ...FREE, bottom: 0.36 };
/** Before a landscape, figures leave the sky free. */
const FOREGROUND: Region = { ...FREE, top: 0.38 };
/** How high the things of a row are, in shares of the picture's height; more of them are smaller. */
const ROW_HEIGHT = { backdrop: 0.4, water: 0.22, ground: 0.3 } as const;
/** Where they stand below the upper edge of their land. */
const ROW_DEPTH = { backdrop: 0.04, water: 0.07, ground: 0.08 } as const;
/** Things in one row; more stand in rows behind each other. */
const ROW_LENGTH_MAX = 9;
/** Share of its cell that a thing fills at scale 1. */
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
  const of = (zone: Zone) => figures.filter(({ thing }) => thing.zone === zone);
  const lands = landsOf(figures);
  const draw = async (some: Figure[], places: Place[]) => {
    for (const [index, figure] of some.entries()) await drawFigure(canvas, figure, places[index], turns);
  };
  // Stars with nothing below them take the whole picture.
  const sky = figures.every(({ thing }) => thing.zone === 'sky') ? FREE : SKY;
  await draw(of('sky'), layOut(of('sky'), canvas, sky, random));
  await draw(of('backdrop'), standInRows(of('backdrop'), 'backdrop', HORIZON, canvas, random));
  for (const [index, land] of lands.entries()) {
    await drawLand(canvas, land, landTop(index, lands.length), turns);
    if (index === 0) await draw(of('water'), standInRows(of('water'), 'water', HORIZON, canvas, random));
  }
  const nearest = landTop(lands.length - 1, lands.length);
  await draw(of('ground'), standInRows(of('ground'), 'ground', nearest, canvas, random));
  const foreground = figures.some(({ thing }) => thing.zone !== 'figure') ? FOREGROUND : FREE;
  await draw(of('figure'), layOut(of('figure'), canvas, foreground, random));
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

/** What was named, and what things that were named cannot do without: water under a boat, a meadow under a tree. */
function landsOf(figures: Figure[]): Figure[] {
  const named = figures.filter(({ thing }) => thing.zone === 'land');
  const needed = (name: string): Figure[] => {
    const thing = (thingOf(name) as { thing: Thing }).thing;
    return named.some((land) => land.thing === thing) ? [] : [{ thing, colour: thing.colour, scale: 1 }];
  };
  const isSea = ({ thing }: Figure) => thing === thingOf('sea')?.thing;
  const has = (zone: Zone) => figures.some(({ thing }) => thing.zone === zone);
  const seas = [...named.filter(isSea), ...(has('water') ? needed('sea') : [])];
  const dry = named.filter((land) => !isSea(land));
  const wantsGround = has('ground') || (has('backdrop') && seas.length === 0);
  return [...seas.slice(0, 1), ...(dry.length === 0 && wantsGround ? needed('meadow') : dry)];
}

/** In shares of the picture's height. */
function landTop(index: number, count: number): number {
  return HORIZON + ((FREE.bottom - HORIZON) * index) / Math.max(1, count);
}

async function drawLand(canvas: Canvas, { thing, colour }: Figure, top: number, turns: Turns): Promise<void> {
  const halfHeight = (canvas.height * (1 - top)) / 2;
  const place = {
    x: canvas.width / 2,
    y: canvas.height - halfHeight,
    halfWidth: canvas.width / 2,
    halfHeight,
  };
  for (const { outline } of thing.parts) await canvas.fillShape(outline, place, colour, turns);
}

/** Side by side with their feet on the land; a row behind stands a little higher. */
function standInRows(
  figures: Figure[],
  zone: keyof typeof ROW_HEIGHT,
  top: number,
  { width, height }: Canvas,
  random: Random,
): Place[] {
  const rows = Math.ceil(figures.length / ROW_LENGTH_MAX);
  const inRow = Math.ceil(figures.length / Math.max(1, rows));
  const cellWidth = ((FREE.right - FREE.left) * width) / Math.max(1, inRow);
  return figures.map(({ scale }, index) => {
    const half = Math.min(cellWidth * 0.47, (ROW_HEIGHT[zone] * height * Math.min(scale, 1.35)) / 2);
    const row = Math.floor(index / inRow);
    const stray = (random() - 0.5) * Math.max(0, cellWidth - 2 * half);
    const foot = (top + ROW_DEPTH[zone] * ((row + 1) / rows)) * height;
    return {
      x: FREE.left * width + ((index % inRow) + 0.5) * cellWidth + stray,
      y: foot - half,
      halfWidth: half,
      halfHeight: half,
    };
  });
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
