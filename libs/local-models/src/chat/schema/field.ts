// The name of a place in a schema, and how a text may call it.
import { identifierStems, stem } from '../../text/words.ts';

export interface Field {
  /** The name's parts as stems: `first_name` -> first, name. */
  stems: string[];
  /** Finds the name as it would stand in a text: `first name`, case aside. Source of a regular expression. */
  spoken: string;
}

/** The whole document, or an item of a list. */
export const NAMELESS: Field = { stems: [], spoken: '' };

export function fieldOf(name: string): Field {
  const parts = name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').match(/[\p{L}\p{N}]+/gu) ?? [];
  return { stems: identifierStems(name), spoken: parts.join('[\\s_-]*') };
}

/** Whether one of the words is part of the field's name. */
export function isAbout({ stems }: Field, words: readonly string[]): boolean {
  return words.some((word) => stems.includes(stem(word)));
}
