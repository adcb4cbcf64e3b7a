// A place in a schema that wants a value: its name and description, and how the text may call it.
import { identifierStems, isStopWord, keywordsOf, stem } from '../../text/words.ts';
import type { JsonSchema } from './json-schema.ts';
import { textOf } from './json-schema.ts';

export interface Field {
  name: string;
  /** The name's parts as stems: `first_name` -> first, name. */
  stems: string[];
  /** Stems of the description. */
  about: string[];
  /** Finds the name as it would stand in a text: `first name`, case aside. Source of a regular expression. */
  spoken: string;
}

/** The whole document: a field without a name. */
export const NAMELESS: Field = { name: '', stems: [], about: [], spoken: '' };

export function fieldOf(name: string, schema: JsonSchema): Field {
  const parts = name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '');
  return {
    name,
    stems: identifierStems(name),
    about: keywordsOf(textOf(schema, 'description') ?? ''),
    spoken: parts.map((part) => part.replace(/[^\p{L}\p{N}]/gu, '')).join('[\\s_-]*'),
  };
}

/** Whether one of the words names or describes the field; the name counts first. */
export function isAbout(
  field: Field,
  words: readonly string[],
  where: 'name' | 'anywhere' = 'anywhere',
): boolean {
  const stems = words.filter((word) => !isStopWord(word) || where === 'name').map(stem);
  return stems.some(
    (one) => field.stems.includes(one) || (where === 'anywhere' && field.about.includes(one)),
  );
}
