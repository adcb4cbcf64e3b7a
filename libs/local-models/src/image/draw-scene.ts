// Arranges the things of a scene and draws them from back to front. Things with the same zone get separate cells, so
// that they can be counted.
import type { Turns } from '../turns.ts';
import { Canvas, type Place } from './canvas.ts';
import { CAPTION_SHARE_MAX, drawCaption } from './caption.ts';
import type { Rgb } from './colours.ts';
import type { Scene } from './read-prompt.ts';
import type { Random } from './seeded-random.ts';
import { anyFigure, MEADOW, SEA, type Thing, type Zone } from './things.ts';

interface Figure {
  thing: Thing;
  colour: Rgb;
  scale: number;
}

/** Upper and lower edge of a part of the picture, as fractions of its height. */
type Region = readonly [top: number, bottom: number];

const SIDE_MARGIN = 0.02;
const FREE: Region = [0.03, 1 - CAPTION_SHARE_MAX];
/** Upper edge of the first land; a second land overlaps it. */
const HORIZON = 0.55;
/** Where things are laid out when the picture has several zones. */
const REGIONS: Readonly<Record<Exclude<Zone, 'land'>, Region>> = {
  sky: [0.03, 0.36],
  backdrop: [0.2, HORIZON + 0.04],
  water: [0.42, HORIZON + 0.12],
  ground: [0.55, FREE[1]],
  figure: [0.38, FREE[1]],
};
/** Fraction of its cell that a thing fills at scale 1. */
const CELL_SHARE = 0.62;
const CELL_SHARE_MAX = 0.94;
const ABSTRACT_COUNT = 5;

/** Draws the scene with the prompt as a caption. Equal random numbers give equal pictures. */
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
  const draw = async (zone: Exclude<Zone, 'land'>) => {
    const inZone = figures.filter(({ thing }) => thing.zone === zone);
    const alone = inZone.length === figures.length && (zone === 'sky' || zone === 'figure');
    const places = layOut(inZone, canvas, alone ? FREE : REGIONS[zone], random);
    for (const [index, figure] of inZone.entries())
      await drawFigure(canvas, figure, places[index] as Place, turns);
  };
  await draw('sky');
  await draw('backdrop');
  const lands = landsOf(figures);
  for (const [index, land] of lands.entries()) {
    const top = HORIZON + ((FREE[1] - HORIZON) * index) / lands.length;
    const [halfWidth, halfHeight] = [canvas.width / 2, (canvas.height * (1 - top)) / 2];
    const place = { x: halfWidth, y: canvas.height - halfHeight, halfWidth, halfHeight };
    await drawFigure(canvas, land, place, turns);
    if (index === 0) await draw('water');
  }
  await draw('ground');
  await draw('figure');
  drawCaption(canvas, prompt);
  return canvas;
}

/** For a prompt without drawable things: a pattern in the named colours, or in random ones. */
function toFigures({ items, looseColours }: Scene, random: Random): Figure[] {
  if (items.length > 0) return items.flatMap((item) => Array.from({ length: item.count }, () => item));
  return Array.from({ length: ABSTRACT_COUNT }, (_, index) => ({
    thing: anyFigure(random),
    colour: looseColours[index % Math.max(1, looseColours.length)] ?? anyColour(random),
    scale: 0.7 + 0.6 * random(),
  }));
}

function anyColour(random: Random): Rgb {
  const part = () => Math.round(40 + 200 * random());
  return [part(), part(), part()];
}

/** The named lands, and those that the things need: the sea under a boat, a meadow under a tree. */
function landsOf(figures: Figure[]): Figure[] {
  const has = (zone: Zone) => figures.some(({ thing }) => thing.zone === zone);
  const named = figures.filter(({ thing }) => thing.zone === 'land');
  const plain = (thing: Thing): Figure => ({ thing, colour: thing.colour, scale: 1 });
  const sea = named.find(({ thing }) => thing === SEA) ?? (has('water') ? plain(SEA) : undefined);
  const dry = named.filter(({ thing }) => thing !== SEA);
  const needsGround = dry.length === 0 && (has('ground') || (has('backdrop') && !sea));
  return [...(sea ? [sea] : []), ...(needsGround ? [plain(MEADOW)] : dry)];
}

/** One grid cell per figure, so that figures do not touch. */
function layOut(
  figures: Figure[],
  { width, height }: Canvas,
  [top, bottom]: Region,
  random: Random,
): Place[] {
  const regionWidth = (1 - 2 * SIDE_MARGIN) * width;
  const regionHeight = (bottom - top) * height;
  const wanted = Math.round(Math.sqrt((figures.length * regionWidth) / regionHeight));
  const columns = Math.min(Math.max(1, wanted), figures.length);
  const cellWidth = regionWidth / columns;
  const cellHeight = regionHeight / Math.ceil(figures.length / columns);
  return figures.map(({ scale }, index) => {
    const half = (Math.min(cellWidth, cellHeight) * Math.min(CELL_SHARE * scale, CELL_SHARE_MAX)) / 2;
    const stray = (extent: number) => (random() - 0.5) * Math.max(0, extent - 2 * half - 2);
    return {
      x: SIDE_MARGIN * width + ((index % columns) + 0.5) * cellWidth + stray(cellWidth),
      y: top * height + (Math.floor(index / columns) + 0.5) * cellHeight + stray(cellHeight),
      halfWidth: half,
      halfHeight: half,
    };
  });
}

async function drawFigure(
  canvas: Canvas,
  { thing, colour }: Figure,
  place: Place,
  turns: Turns,
): Promise<void> {
  for (const part of thing.parts) await canvas.fillShape(part.outline, place, part.colour ?? colour, turns);
}
