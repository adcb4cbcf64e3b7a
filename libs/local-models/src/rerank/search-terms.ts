// A text as search terms: stems without accents, and pairs of characters where a script puts no space between words.
import { isStopWord, stem, wordsOf } from '../text/words.ts';

/** Characters of a text that are read; the rest does not count for its rank. */
export const TEXT_LENGTH_READ_MAX = 50_000;

const ACCENTS = /\p{M}+/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Terms of many texts: a word met before is not stemmed again. Made for one call, and forgotten with it. */
export class SearchTerms {
  readonly #known = new Map<string, string[]>();

  /** In order, repeats included; stop words give none. */
  of(text: string): string[] {
    return this.#read(text).flatMap((word) => (isStopWord(word) ? [] : this.#ofWord(word)));
  }

  /** A query of only stop words ("who are you") is searched by them. */
  ofQuery(text: string): string[] {
    const terms = this.of(text);
    return terms.length > 0 ? terms : this.ofEveryWord(text);
  }

  ofEveryWord(text: string): string[] {
    return this.#read(text).flatMap((word) => this.#ofWord(word));
  }

  #read(text: string): string[] {
    return wordsOf(text.slice(0, TEXT_LENGTH_READ_MAX).normalize('NFKC'));
  }

  #ofWord(word: string): string[] {
    let terms = this.#known.get(word);
    if (!terms) {
      terms = UNSPACED.test(word) ? characterPairs(word) : [stem(withoutAccents(word))];
      this.#known.set(word, terms);
    }
    return terms;
  }
}

function withoutAccents(word: string): string {
  return word.normalize('NFD').replace(ACCENTS, '');
}

function characterPairs(word: string): string[] {
  const characters = [...word];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
