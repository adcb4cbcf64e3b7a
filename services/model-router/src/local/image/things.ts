// What can be drawn: each thing by its name, with its parts and where in the picture it belongs.
import type { Rgb } from './colours.ts';
import type { Outline } from './outlines.ts';
import * as outlines from './outlines.ts';

/** One outline of a thing; a part without a colour of its own takes the thing's. */
export interface Part {
  outline: Outline;
  colour?: Rgb;
}

/**
 * `sky` hangs above, `backdrop` rises at the horizon, `land` lies across the picture, `water` swims, `ground` stands on
 * the nearest land, `figure` is laid out in front.
 */
export type Zone = 'sky' | 'backdrop' | 'land' | 'water' | 'ground' | 'figure';

export interface Thing {
  zone: Zone;
  /** When the prompt gives none. */
  colour: Rgb;
  parts: readonly Part[];
}

function figure(outline: Outline, colour: Rgb): Thing {
  return { zone: 'figure', colour, parts: [{ outline }] };
}

function land(outline: Outline, colour: Rgb): Thing {
  return { zone: 'land', colour, parts: [{ outline }] };
}

const THINGS: Readonly<Record<string, Thing>> = {
  circle: figure(outlines.circle, [37, 99, 235]),
  square: figure(outlines.square, [220, 38, 38]),
  rectangle: figure(outlines.rectangle, [79, 70, 229]),
  triangle: figure(outlines.triangle, [34, 160, 70]),
  diamond: figure(outlines.diamond, [6, 182, 212]),
  ellipse: figure(outlines.ellipse, [147, 51, 234]),
  ring: figure(outlines.ring, [234, 179, 8]),
  cross: figure(outlines.cross, [220, 38, 38]),
  hexagon: figure(outlines.hexagon, [245, 130, 32]),
  heart: figure(outlines.heart, [225, 29, 72]),
  star: { zone: 'sky', colour: [250, 204, 21], parts: [{ outline: outlines.star }] },
  sun: { zone: 'sky', colour: [250, 204, 21], parts: [{ outline: outlines.sun }] },
  moon: { zone: 'sky', colour: [226, 232, 240], parts: [{ outline: outlines.moon }] },
  cloud: { zone: 'sky', colour: [241, 245, 249], parts: [{ outline: outlines.cloud }] },
  mountain: {
    zone: 'backdrop',
    colour: [100, 116, 139],
    parts: [{ outline: outlines.mountain }, { outline: outlines.snowCap, colour: [248, 250, 252] }],
  },
  house: {
    zone: 'ground',
    colour: [217, 160, 102],
    parts: [
      { outline: outlines.wall },
      { outline: outlines.roof, colour: [153, 60, 40] },
      { outline: outlines.door, colour: [92, 51, 23] },
      { outline: outlines.windows, colour: [191, 219, 254] },
    ],
  },
  tree: {
    zone: 'ground',
    colour: [34, 130, 60],
    parts: [{ outline: outlines.trunk, colour: [110, 70, 35] }, { outline: outlines.crown }],
  },
  flower: {
    zone: 'ground',
    colour: [236, 72, 153],
    parts: [
      { outline: outlines.stem, colour: [34, 130, 60] },
      { outline: outlines.petals },
      { outline: outlines.pistil, colour: [250, 204, 21] },
    ],
  },
  boat: {
    zone: 'water',
    colour: [153, 60, 40],
    parts: [{ outline: outlines.hull }, { outline: outlines.sail, colour: [248, 250, 252] }],
  },
  sea: land(outlines.waves, [29, 100, 170]),
  desert: land(outlines.hill, [220, 180, 110]),
  meadow: land(outlines.hill, [90, 160, 70]),
  snow: land(outlines.hill, [240, 245, 250]),
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  ball: 'circle',
  balloon: 'circle',
  dot: 'circle',
  disc: 'circle',
  disk: 'circle',
  box: 'square',
  cube: 'square',
  block: 'square',
  pyramid: 'triangle',
  oval: 'ellipse',
  egg: 'ellipse',
  rhombus: 'diamond',
  hill: 'mountain',
  volcano: 'mountain',
  cottage: 'house',
  cabin: 'house',
  home: 'house',
  hut: 'house',
  village: 'house',
  forest: 'tree',
  wood: 'tree',
  ship: 'boat',
  sailboat: 'boat',
  rose: 'flower',
  tulip: 'flower',
  ocean: 'sea',
  lake: 'sea',
  river: 'sea',
  water: 'sea',
  beach: 'desert',
  sand: 'desert',
  dune: 'desert',
  grass: 'meadow',
  field: 'meadow',
  lawn: 'meadow',
  garden: 'meadow',
  winter: 'snow',
};

/** Words for many of something. */
const COLLECTIVES: Readonly<Record<string, number>> = { forest: 7, wood: 7, village: 4 };

export interface NamedThing {
  name: string;
  thing: Thing;
  /** How many the word itself means, where no number is said. */
  many: number;
}

/** By its name, singular or plural; null for what cannot be drawn. */
export function thingOf(word: string): NamedThing | null {
  for (const [singular, many] of [[word, 1] as const, ...singulars(word).map((one) => [one, 2] as const)]) {
    const name = Object.hasOwn(OTHER_NAMES, singular) ? (OTHER_NAMES[singular] ?? singular) : singular;
    const thing = Object.hasOwn(THINGS, name) ? THINGS[name] : undefined;
    if (thing) return { name, thing, many: thing.zone === 'land' ? 1 : (COLLECTIVES[singular] ?? many) };
  }
  return null;
}

function singulars(word: string): string[] {
  return [/s$/, /es$/].filter((ending) => ending.test(word)).map((ending) => word.replace(ending, ''));
}

/** What a prompt that names nothing of these is given. */
export const ABSTRACT_FIGURES: readonly string[] = [
  'circle',
  'square',
  'triangle',
  'diamond',
  'ring',
  'hexagon',
];
