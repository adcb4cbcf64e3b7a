// The text that a schema is filled from, and what stands in it: numbers, dates, names, quotations, addresses. What one
// field has taken, the next does not take again.
import { keywordsOf } from '../../text/words.ts';
import { quotedIn } from '../rules/subject.ts';

/** Characters that are searched. */
const LENGTH_SEARCHED_MAX = 8_000;
const CANDIDATES_MAX = 500;
/**
 * Characters and candidates that one schema's fields may look at in all, about a second's work. Beyond it nothing more
 * is found, and the fields left get fillers.
 */
const WORK_MAX = 5_000_000;

const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
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
  /^(?:the|a|an|my|our|your|his|her|its|their|this|that|these|those|please|what|who|when|where|which|why|how|can|could|would|is|are|was|were|do|does|did|in|on|at|for|from|to|with|and|or|but|if|it|he|she|we|they|you|i|there|here|tell|give|show|get|find|list|make|write|create|extract|send|book|set|return|answer|generate|classify|add|search|call|use|look|let|turn|open|close|start|stop|play|remind|schedule|convert|translate|explain|describe|delete|update|remove|change|order|buy|check|calculate|compute|summari[sz]e|extract|today|yesterday|tomorrow|no|yes)$/i;

/** Something found, with its place in the text. */
export interface Found<T> {
  value: T;
  start: number;
  end: number;
}

/** What all copies of a source share. */
interface Reading {
  readonly text: string;
  keywords: ReadonlySet<string> | null;
  work: number;
}

export class SourceText {
  readonly #reading: Reading;
  readonly #taken: Found<unknown>[] = [];

  constructor(text: string | Reading) {
    this.#reading =
      typeof text === 'string' ? { text: text.slice(0, LENGTH_SEARCHED_MAX), keywords: null, work: 0 } : text;
  }

  get text(): string {
    return this.#reading.text;
  }

  get keywords(): ReadonlySet<string> {
    this.#reading.keywords ??= new Set(keywordsOf(this.text));
    return this.#reading.keywords;
  }

  /** A copy in which a field may be tried without taking anything for good. */
  fork(): SourceText {
    const fork = new SourceText(this.#reading);
    fork.#taken.push(...this.#taken);
    return fork;
  }

  /** Makes what a fork has taken one's own. */
  adopt(fork: SourceText): void {
    this.#taken.splice(0, this.#taken.length, ...fork.#taken);
  }

  take<T>(found: Found<T>): T {
    this.#taken.push(found);
    return found.value;
  }

  isFree({ start, end }: Found<unknown>): boolean {
    return this.#taken.every((taken) => taken.end <= start || end <= taken.start);
  }

  /** Everything a pattern finds that no field has taken yet; its first group, where it took part, is the value. */
  find(pattern: RegExp): Found<string>[] {
    const found: Found<string>[] = [];
    this.#reading.work += this.text.length;
    for (const match of this.text.matchAll(pattern)) {
      this.#reading.work += this.#taken.length;
      if (found.length === CANDIDATES_MAX || this.#reading.work > WORK_MAX) break;
      const value = match[1] ?? match[0];
      const start = match.index + match[0].lastIndexOf(value);
      const candidate = { value, start, end: start + value.length };
      if (value !== '' && this.isFree(candidate)) found.push(candidate);
    }
    return found;
  }

  numbers(): Found<number>[] {
    return this.find(NUMBER).map((found) => ({ ...found, value: readNumber(found.value) }));
  }

  /** Capitalised phrases; a sentence's first word only if it is no ordinary opener. */
  names(): Found<string>[] {
    return this.find(NAME).flatMap((found) => {
      const words = found.value.split(/\s+/);
      while (words[0] !== undefined && SENTENCE_OPENERS.test(words[0])) words.shift();
      const value = words.join(' ').replace(/['’]s$|[.,'’-]+$/g, '');
      if (value === '') return [];
      const start = this.text.indexOf(value, found.start);
      return [{ value, start, end: start + value.length }];
    });
  }

  quotations(): Found<string>[] {
    const found: Found<string>[] = [];
    for (let from = 0; found.length < CANDIDATES_MAX && this.#reading.work <= WORK_MAX; ) {
      this.#reading.work += this.#taken.length;
      const value = quotedIn(this.text.slice(from));
      if (value === null) break;
      const start = this.text.indexOf(value, from);
      const candidate = { value, start, end: start + value.length };
      if (this.isFree(candidate)) found.push(candidate);
      from = candidate.end + 1;
    }
    return found;
  }
}

function readNumber(text: string): number {
  const spelled = NUMBER_WORDS.indexOf(text.toLowerCase());
  return spelled < 0 ? Number(text.replaceAll(',', '')) : spelled;
}
