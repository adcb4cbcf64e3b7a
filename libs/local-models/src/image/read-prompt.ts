// A prompt -> what to draw: things with their number, colour and size, and the background.
import { NUMBER_WORDS } from '../text/number-words.ts';
import { colourOf, mixed, type Rgb, WHITE } from './colours.ts';
import { type NamedThing, type Thing, thingOf } from './things.ts';

interface SceneItem {
  thing: Thing;
  count: number;
  colour: Rgb;
  /** 1 is normal size. */
  scale: number;
}

export interface Scene {
  top: Rgb;
  bottom: Rgb;
  items: SceneItem[];
  /** Colours that were named and belong to nothing. */
  looseColours: Rgb[];
}

const COUNT_MAX = 100;
/** Kinds of things in one picture. */
const ITEMS_MAX = 40;

const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...NUMBER_WORDS.map((word, value) => [word, value] as const),
  ...Object.entries({ a: 1, an: 1, the: 1, pair: 2, couple: 2, few: 3, several: 5, dozen: 12, many: 15 }),
]);
const SCALES: ReadonlyMap<string, number> = new Map(
  Object.entries({ tiny: 0.35, little: 0.6, small: 0.6, big: 1.35, large: 1.35, huge: 1.6, giant: 1.6 }),
);

const BACKGROUND_WORDS: ReadonlySet<string> = new Set(['background', 'backdrop', 'sky', 'canvas']);
/** Words about one thing do not apply to the next. */
const BREAKS: ReadonlySet<string> = new Set(
  'and on over under with above below behind in near beside next , . ;'.split(' '),
);

/** From the top to the horizon. */
type Sky = readonly [Rgb, Rgb];
const sky = (...colours: [...top: Rgb, ...horizon: Rgb]): Sky => [
  [colours[0], colours[1], colours[2]],
  [colours[3], colours[4], colours[5]],
];
const DAY = sky(90, 160, 235, 205, 230, 250);
const PLAIN = sky(226, 232, 240, 248, 250, 252);
/** Skies by the words for a time or a place. */
const SKIES: ReadonlyMap<string, Sky> = new Map([
  ['night', sky(10, 14, 40, 40, 50, 100)],
  ['space', sky(4, 4, 14, 22, 14, 48)],
  ['sunset', sky(76, 40, 110, 252, 150, 80)],
  ['sunrise', sky(120, 140, 210, 255, 200, 140)],
  ['dawn', sky(120, 140, 210, 255, 200, 140)],
  ['dusk', sky(50, 40, 90, 220, 120, 110)],
  ['storm', sky(50, 56, 66, 110, 118, 130)],
  ['day', DAY],
]);

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
  let named: Sky | null = null;
  let said = NOTHING_SAID;
  const forget = () => {
    if (said.colour) looseColours.push(said.colour);
    said = NOTHING_SAID;
  };
  for (const word of prompt.toLowerCase().match(/[\p{L}]+|\d+|[,.;]/gu) ?? []) {
    const drawable = thingOf(word);
    const skyOfWord = SKIES.get(word);
    if (BREAKS.has(word)) forget();
    else if (BACKGROUND_WORDS.has(word)) {
      if (said.colour) background = said.colour;
      if (word === 'sky') named ??= DAY;
      said = NOTHING_SAID;
    } else if (drawable) {
      if (items.length < ITEMS_MAX) items.push(toItem(drawable, said));
      said = NOTHING_SAID;
    } else if (skyOfWord) named = skyOfWord;
    else said = heard(said, word);
  }
  forget();
  const [top, bottom] = background ? around(background) : (named ?? usualSky(items));
  return { top, bottom, items: items.filter(({ count }) => count > 0), looseColours };
}

function heard(said: Said, word: string): Said {
  const colour = colourOf(word);
  if (colour) return { ...said, colour };
  const count = /^\d+$/.test(word) ? Number(word) : NUMBERS.get(word);
  if (count !== undefined) return { ...said, count: Math.min(count, COUNT_MAX) };
  return { ...said, scale: SCALES.get(word) ?? said.scale };
}

function toItem({ thing, many }: NamedThing, { count, colour, scale }: Said): SceneItem {
  // "a forest" is still many trees.
  const asked = count === 1 || count === null ? many : count;
  return { thing, count: thing.zone === 'land' ? 1 : asked, colour: colour ?? thing.colour, scale };
}

/** A colour that was asked for stays recognisable over the whole picture. */
function around(colour: Rgb): Sky {
  return [colour, mixed(colour, WHITE, 0.12)];
}

function usualSky(items: SceneItem[]): Sky {
  return items.some(({ thing }) => thing.zone !== 'figure') ? DAY : PLAIN;
}
