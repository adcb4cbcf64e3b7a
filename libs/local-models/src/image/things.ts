// What can be drawn: each thing by its names, with its parts and where in the picture it belongs.
import type { Rgb } from './colours.ts';
import type { Outline } from './outlines.ts';
import * as shape from './outlines.ts';

/**
 * `sky` hangs above, `backdrop` rises at the horizon, `land` lies across the picture, `water` swims, `ground` stands on
 * the nearest land, `figure` is laid out in front.
 */
export type Zone = 'sky' | 'backdrop' | 'land' | 'water' | 'ground' | 'figure';

/** One outline of a thing; a part without a colour of its own takes the thing's. */
interface Part {
  outline: Outline;
  colour?: Rgb;
}

export interface Thing {
  names: readonly string[];
  zone: Zone;
  /** When the prompt gives none. */
  colour: Rgb;
  parts: readonly Part[];
}

/** @param parts back to front */
function thing(names: string, zone: Zone, colour: Rgb, ...parts: (Outline | Part)[]): Thing {
  const all = parts.map((part) => (typeof part === 'function' ? { outline: part } : part));
  return { names: names.split(' '), zone, colour, parts: all };
}

const CREAM: Rgb = [248, 250, 252];
const YELLOW: Rgb = [250, 204, 21];
const BROWN: Rgb = [110, 70, 35];
const RUST: Rgb = [153, 60, 40];
const LEAF: Rgb = [34, 130, 60];

export const SEA = thing('sea ocean lake river water', 'land', [29, 100, 170], shape.waves);
export const MEADOW = thing('meadow grass field lawn garden', 'land', [90, 160, 70], shape.hill);

const FIGURES: readonly Thing[] = [
  thing('circle ball balloon dot disc disk', 'figure', [37, 99, 235], shape.circle),
  thing('square box cube block', 'figure', [220, 38, 38], shape.square),
  thing('triangle pyramid', 'figure', [34, 160, 70], shape.triangle),
  thing('diamond rhombus', 'figure', [6, 182, 212], shape.diamond),
  thing('ring', 'figure', [234, 179, 8], shape.ring),
  thing('hexagon', 'figure', [245, 130, 32], shape.hexagon),
];

const THINGS: readonly Thing[] = [
  ...FIGURES,
  thing('rectangle', 'figure', [79, 70, 229], shape.rectangle),
  thing('ellipse oval egg', 'figure', [147, 51, 234], shape.ellipse),
  thing('cross', 'figure', [220, 38, 38], shape.cross),
  thing('heart', 'figure', [225, 29, 72], shape.heart),
  thing('star', 'sky', YELLOW, shape.star),
  thing('sun', 'sky', YELLOW, shape.sun),
  thing('moon', 'sky', [226, 232, 240], shape.moon),
  thing('cloud', 'sky', [241, 245, 249], shape.cloud),
  thing('mountain hill volcano', 'backdrop', [100, 116, 139], shape.mountain, {
    outline: shape.snowCap,
    colour: CREAM,
  }),
  thing(
    'house cottage cabin home hut village',
    'ground',
    [217, 160, 102],
    shape.wall,
    { outline: shape.roof, colour: RUST },
    { outline: shape.door, colour: BROWN },
    { outline: shape.windows, colour: [191, 219, 254] },
  ),
  thing('tree forest wood', 'ground', LEAF, { outline: shape.trunk, colour: BROWN }, shape.crown),
  thing('flower rose tulip', 'ground', [236, 72, 153], { outline: shape.stem, colour: LEAF }, shape.petals, {
    outline: shape.pistil,
    colour: YELLOW,
  }),
  thing('boat ship sailboat', 'water', RUST, shape.hull, { outline: shape.sail, colour: CREAM }),
  SEA,
  MEADOW,
  thing('desert beach sand dune', 'land', [220, 180, 110], shape.hill),
  thing('snow winter', 'land', [240, 245, 250], shape.hill),
];

/** Words for many of something. */
const COLLECTIVES: Readonly<Record<string, number>> = { forest: 7, wood: 7, village: 4 };

export interface NamedThing {
  thing: Thing;
  /** How many the word itself means, if no number is given. */
  many: number;
}

/** By its name, singular or plural; null for what cannot be drawn. */
export function thingOf(word: string): NamedThing | null {
  for (const name of [word, word.replace(/s$/, ''), word.replace(/es$/, '')]) {
    const found = THINGS.find(({ names }) => names.includes(name));
    if (found) return { thing: found, many: COLLECTIVES[name] ?? (name === word ? 1 : 2) };
  }
  return null;
}

/** A figure for a prompt that names no thing. */
export function anyFigure(random: () => number): Thing {
  return FIGURES[Math.floor(random() * FIGURES.length)] as Thing;
}
