// Sentences of a text.

/** Characters after which a sentence ends even at an abbreviation. */
const SENTENCE_LENGTH_MAX = 2_000;
const ABBREVIATION_LENGTH_MAX = 10;
const ABBREVIATION = /(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|approx|No)\.$/;

/** Sentences and list items, trimmed, in order; abbreviations and decimals do not end one. */
export function sentencesOf(text: string): string[] {
  return text.split(/\n+/).flatMap(sentencesOfLine);
}

function sentencesOfLine(line: string): string[] {
  const sentences: string[] = [];
  let pending = '';
  for (const part of line.split(/(?<=[.!?…。！？]["'”’)]?)\s+/)) {
    pending = pending === '' ? part : `${pending} ${part}`;
    const tail = pending.slice(-ABBREVIATION_LENGTH_MAX);
    if (ABBREVIATION.test(tail) && pending.length < SENTENCE_LENGTH_MAX) continue;
    if (pending.trim() !== '') sentences.push(pending.trim());
    pending = '';
  }
  if (pending.trim() !== '') sentences.push(pending.trim());
  return sentences;
}
