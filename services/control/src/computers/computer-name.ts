// Generates names for computers created without one: easy to say and to tell apart, not unique.
const QUALITIES = (
  'amber brave brisk calm clear clever cosy crisp deft eager fair fleet fond gentle glad golden hardy ' +
  'keen kind lively lucid merry mild neat nimble noble plucky proud quick quiet ready silver smart ' +
  'steady sunny swift tidy warm wise witty'
).split(' ');
const ANIMALS = (
  'badger beaver bison bittern crane curlew dolphin falcon finch fox gannet hare heron ibex jackdaw ' +
  'kestrel lark lynx marten merlin mole moose newt otter owl pike plover puffin raven robin salmon seal ' +
  'stoat stork swallow swan tern vole wolf wren'
).split(' ');
const NUMBERS = 1_000;

/** @param random a number from 0 up to, but not including, 1 */
export function computerName(random: () => number): string {
  const one = (of: readonly string[]) => of[Math.floor(random() * of.length)]!;
  const number = String(Math.floor(random() * NUMBERS)).padStart(3, '0');
  return `${one(QUALITIES)}-${one(ANIMALS)}-${number}`;
}
