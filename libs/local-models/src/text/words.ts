// Words, their stems and what two texts have in common: the little linguistics that the rules and the embeddings share.

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu;

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after again all also am an and any are as at be because been before being between both but by can could ' +
    'did do does doing down during each few for from further get give had has have having he her here hers him his ' +
    'how i if in into is it its just let like make may me might more most my no nor not now of off on once only or ' +
    'other our out over own please same shall she should so some such tell than that the their them then there these ' +
    'they this those through to too under until up us use using very was we were what when where which while who ' +
    "whom whose why will with would you your it's i'm i've don't doesn't what's who's that's can't let's"
  ).split(' '),
);

/** The words of a text as written. */
export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word.toLowerCase().replace('’', "'"));
}

/**
 * A crude English stem: plural, -ing, -ed, -er, -ly endings off, then a final e. It need not be a word; it must be the
 * same for forms that mean the same.
 */
export function stem(word: string): string {
  let root = word
    .toLowerCase()
    .replace(/['’]s?$/, '')
    .replace(/['’]/g, '');
  if (root.length > 4 && root.endsWith('ies')) root = `${root.slice(0, -3)}y`;
  else if (root.length > 3 && root.endsWith('s') && !/(ss|us|is)$/.test(root)) root = root.slice(0, -1);
  const cut = /^(.{3,}?)(ingly|edly|ing|ed|er|ly)$/.exec(root);
  if (cut?.[1] && /[aeiouy]/.test(cut[1])) root = cut[1].replace(/([^aeiouylsz])\1$/, '$1');
  if (root.length > 3) root = root.replace(/e$/, '');
  return root.length > 3 ? root.replace(/i$/, 'y') : root;
}

/** Stems of the words that carry meaning, in order, repeats included. */
export function keywordsOf(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !isStopWord(word))
    .map(stem);
}

/** Parts of an identifier as stems: `getCurrentWeather`, `get_current_weather` -> get, current, weather. */
export function identifierStems(name: string): string[] {
  return name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
    .map(stem);
}
