// Spoken digits: the grammar that the recogniser is given for them, and when it is worth using.

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'] as const;

/** Words that general English puts in a digit's place. */
const MISHEARD: ReadonlySet<string> = new Set([
  'oh',
  'to',
  'too',
  'for',
  'won',
  'ate',
  'tree',
  'full',
  'sex',
]);

const SHARE_MIN = 0.5;

/** JSGF, as pocketsphinx reads it. */
export const DIGIT_GRAMMAR = `#JSGF V1.0;\ngrammar digits;\npublic <digits> = ( ${DIGITS.join(' | ')} )+;\n`;

/** At least half of the words are digits or their likes, some of them digits beyond doubt, but not yet all. */
export function isMostlyDigits(words: string[]): boolean {
  const digits = words.filter((word) => (DIGITS as readonly string[]).includes(word)).length;
  const misheard = words.filter((word) => MISHEARD.has(word)).length;
  return digits > 0 && digits < words.length && digits + misheard >= words.length * SHARE_MIN;
}
