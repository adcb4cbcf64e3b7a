// A prompt -> what is to be drawn: things with their number, colour and size, and the background.
import { colourOf, mixed, type Rgb, WHITE } from './colours.ts';
import { type NamedThing, thingOf } from './things.ts';

export interface SceneItem extends NamedThing {
  count: number;
  colour: Rgb;
  /** 1 is normal. */
  scale: number;
}

export interface Scene {
  top: Rgb;
  bottom: Rgb;
  items: SceneItem[];
  /** Colours that were named and belong to nothing. */
  looseColours: Rgb[];
}

export const COUNT_MAX = 100;
/** Kinds of things in one picture. */
const ITEMS_MAX = 40;

const NUMBERS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'zero one two three four five six seven eight nine ten eleven twelve'
      .split(' ')
      .map((word, value) => [word, value]),
  ),
  a: 1,
  an: 1,
  the: 1,
  pair: 2,
  couple: 2,
  few: 3,
  several: 5,
  dozen: 12,
  many: 15,
};

const SCALES: Readonly<Record<string, number>> = {
  tiny: 0.35,
  little: 0.6,
  small: 0.6,
  big: 1.35,
  large: 1.35,
  huge: 1.6,
  giant: 1.6,
};

const BACKGROUND_WORDS: ReadonlySet<string> = new Set(['background', 'backdrop', 'sky', 'canvas']);
/** What was said of one thing does not hold for the next. */
const BREAKS: ReadonlySet<string> = new Set(
  'and on over under with above below behind in near beside next , . ;'.split(' '),
);

/** Skies by the words for a time or a place: from the top to the horizon. */
const SKIES: Readonly<Record<string, readonly [Rgb, Rgb]>> = {
  night: [
    [10, 14, 40],
    [40, 50, 100],
  ],
  space: [
    [4, 4, 14],
    [22, 14, 48],
  ],
  sunset: [
    [76, 40, 110],
    [252, 150, 80],
  ],
  sunrise: [
    [120, 140, 210],
    [255, 200, 140],
  ],
  dawn: [
    [120, 140, 210],
    [255, 200, 140],
  ],
  dusk: [
    [50, 40, 90],
    [220, 120, 110],
  ],
  storm: [
    [50, 56, 66],
    [110, 118, 130],
  ],
  day: [
    [90, 160, 235],
    [205, 230, 250],
  ],
};
const DAY: readonly [Rgb, Rgb] = [
  [90, 160, 235],
  [205, 230, 250],
];
const PLAIN: readonly [Rgb, Rgb] = [
  [226, 232, 240],
  [248, 250, 252],
];

interface Said {
  count: number | null;
  colour: Rgb | null;
  scale: number;
}

const NOTHING_SAID: Said = { count: null, colour: null, scale: 1 };

export function readPrompt(prompt: string): Scene {
  const items: SceneItem[] = [];
  const looseColours: Rgb[] = [];
  let background: Rgb | null = null;
  let sky: readonly [Rgb, Rgb] | null = null;
  let said = NOTHING_SAID;
  const forget = () => {
    if (said.colour) looseColours.push(said.colour);
    said = NOTHING_SAID;
  };
  for (const word of prompt.toLowerCase().match(/[\p{L}]+|\d+|[,.;]/gu) ?? []) {
    const named = thingOf(word);
    if (BREAKS.has(word)) forget();
    else if (BACKGROUND_WORDS.has(word)) {
      if (said.colour) background = said.colour;
      sky ??= word === 'sky' ? DAY : null;
      said = NOTHING_SAID;
    } else if (named) {
      if (items.length < ITEMS_MAX) items.push(toItem(named, said));
      said = NOTHING_SAID;
    } else if (Object.hasOwn(SKIES, word)) sky = SKIES[word] ?? null;
    else said = heard(said, word);
  }
  forget();
  const [top, bottom] = background ? around(background) : (sky ?? usualSky(items));
  return { top, bottom, items: items.filter(({ count }) => count > 0), looseColours };
}

function heard(said: Said, word: string): Said {
  const colour = colourOf(word);
  if (colour) return { ...said, colour };
  const count = /^\d+$/.test(word) ? Number(word) : Object.hasOwn(NUMBERS, word) ? NUMBERS[word] : undefined;
  if (count !== undefined) return { ...said, count: Math.min(count, COUNT_MAX) };
  const scale = Object.hasOwn(SCALES, word) ? SCALES[word] : undefined;
  return scale === undefined ? said : { ...said, scale };
}

function toItem(named: NamedThing, { count, colour, scale }: Said): SceneItem {
  // "a forest" is still many trees.
  const asked = count === 1 || count === null ? Math.max(named.many, 1) : count;
  return {
    ...named,
    count: named.thing.zone === 'land' ? 1 : asked,
    colour: colour ?? named.thing.colour,
    scale,
  };
}

/** A colour that was asked for stays recognisable over the whole picture. */
function around(colour: Rgb): readonly [Rgb, Rgb] {
  return [colour, mixed(colour, WHITE, 0.12)];
}

function usualSky(items: SceneItem[]): readonly [Rgb, Rgb] {
  return items.some(({ thing }) => thing.zone !== 'figure') ? DAY : PLAIN;
}
