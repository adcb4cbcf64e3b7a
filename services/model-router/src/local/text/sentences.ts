// Sentences of a text.

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
    if (ABBREVIATION.test(pending)) continue;
    if (pending.trim() !== '') sentences.push(pending.trim());
    pending = '';
  }
  if (pending.trim() !== '') sentences.push(pending.trim());
  return sentences;
}
