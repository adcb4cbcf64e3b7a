// The text that a schema is filled from. What one field has taken, the next does not take again.
import { NUMBER_WORDS } from '../../text/number-words.ts';
import { keywordsOf } from '../../text/words.ts';
import { QUOTED } from '../rules/subject.ts';

/** Characters that are searched. */
const LENGTH_SEARCHED_MAX = 8_000;
const CANDIDATES_MAX = 500;

const NUMBER = new RegExp(
  String.raw`(?<![\p{L}\p{N}_.-])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\d_]|[.-]\d)|(?<=\p{Sc}\s?)\d+(?:\.\d+)?|\b(?:${NUMBER_WORDS.join('|')})\b`,
  'giu',
);
/** A capitalised word, an initial, or an abbreviation that names begin with; no other word takes a full stop along. */
export const CAPITALISED = String.raw`(?:(?:\p{Lu}|St|Mt|Dr)\.|\p{Lu}[\p{L}\p{N}'’-]*)`;
/** One to five of them in a row, with the small words that names have between them. */
const NAME = new RegExp(
  String.raw`${CAPITALISED}(?:\s+(?:(?:de|da|di|del|van|von|der|la|le|el|al|of|the)\s+){0,2}${CAPITALISED}){0,4}`,
  'gu',
);
const SENTENCE_OPENERS =
  /^(?:the|a|an|my|our|your|his|her|its|their|this|that|these|those|please|what|who|when|where|which|why|how|can|could|would|is|are|was|were|do|does|did|in|on|at|for|from|to|with|and|or|but|if|it|he|she|we|they|you|i|there|here|tell|give|show|get|find|list|make|write|create|extract|send|book|set|return|answer|generate|classify|add|search|call|use|look|let|turn|open|close|start|stop|play|remind|schedule|convert|translate|explain|describe|delete|update|remove|change|order|buy|check|calculate|compute|summari[sz]e|today|yesterday|tomorrow|no|yes)$/i;
/** Something found, with its place in the text. */
export interface Found<T> {
  value: T;
  start: number;
  end: number;
}

export class SourceText {
  readonly text: string;
  readonly keywords: ReadonlySet<string>;
  /** What fields have taken. To undo an attempt, put the former value back. */
  taken: readonly Found<unknown>[] = [];

  constructor(text: string) {
    this.text = text.slice(0, LENGTH_SEARCHED_MAX);
    this.keywords = new Set(keywordsOf(this.text));
  }

  take(found: Found<unknown>): void {
    this.taken = [...this.taken, found];
  }

  /** Everything that the pattern finds and no field has taken. The value is the first group that took part. */
  find(pattern: RegExp): Found<string>[] {
    const found: Found<string>[] = [];
    for (const match of this.text.matchAll(pattern)) {
      if (found.length === CANDIDATES_MAX) break;
      const value = match.slice(1).find((group) => group !== undefined) ?? match[0];
      const start = match.index + match[0].lastIndexOf(value);
      const end = start + value.length;
      if (value !== '' && this.taken.every((taken) => taken.end <= start || end <= taken.start))
        found.push({ value, start, end });
    }
    return found;
  }

  numbers(): Found<number>[] {
    return this.find(NUMBER).map((found) => ({ ...found, value: readNumber(found.value) }));
  }

  /** Capitalised phrases, without the ordinary word that opens a sentence. */
  names(): Found<string>[] {
    return this.find(NAME).flatMap((found) => {
      const words = found.value.split(/\s+/);
      while (words[0] !== undefined && SENTENCE_OPENERS.test(words[0])) words.shift();
      const value = words.join(' ').replace(/['’]s$|[.,'’-]+$/g, '');
      return value === '' ? [] : [{ ...found, value }];
    });
  }

  quotations(): Found<string>[] {
    return this.find(new RegExp(QUOTED, 'gu'));
  }
}

function readNumber(text: string): number {
  const spelled = NUMBER_WORDS.indexOf(text.toLowerCase());
  return spelled < 0 ? Number(text.replaceAll(',', '')) : spelled;
}
