// Numbers for a schema: the one beside the field's name, else one of the field's kind, else any.
import { findExpression } from '../arithmetic/find-expression.ts';
import { ArithmeticError, toNumber } from '../arithmetic/fraction.ts';
import { type Field, isAbout } from './field.ts';
import type { Found, SourceText } from './source-text.ts';

const NEAR = String.raw`\s*(?:is|are|was|of|=|:|at|to)?\s*(?:about\s+)?\p{Sc}?\s*`;
/** At most 40 digits: with longer runs a search takes time by the square of the run. */
const AMOUNT = String.raw`\d[\d,]{0,39}(?:\.\d{1,40})?`;

/** Words that tell what a number is about, and the text around such a number. */
const KINDS: readonly { words: readonly string[]; pattern: RegExp }[] = [
  {
    words: ['age', 'years'],
    pattern: /\b(\d{1,3})(?=[\s-]*(?:years?|yrs?|y\/?o)\b)|\b(?:aged?)\s+(\d{1,3})\b/giu,
  },
  {
    words: ['price', 'cost', 'amount', 'total', 'budget', 'fee', 'salary', 'payment'],
    pattern: new RegExp(
      String.raw`(?<=\p{Sc}\s?)(${AMOUNT})|\b(${AMOUNT})(?=\s*(?:dollars?|euros?|pounds?|usd|eur|gbp|cents?)\b)`,
      'giu',
    ),
  },
];
const RESULT_WORDS = ['answer', 'result', 'value', 'sum', 'product', 'total', 'solution', 'number'];

/** Best first. */
export function numbersFor(field: Field, source: SourceText): Found<number>[] {
  const numbers = source.numbers();
  const at = (pattern: RegExp) =>
    source
      .find(pattern)
      .flatMap(({ start }) => numbers.filter((number) => number.start <= start && start < number.end));
  const { spoken } = field;
  const kind = KINDS.find(({ words }) => isAbout(field, words));
  return [
    ...(spoken === '' || isAbout(field, RESULT_WORDS) ? resultIn(source) : []),
    ...(spoken === '' ? [] : at(new RegExp(`\\b${spoken}s?${NEAR}(-?${AMOUNT})`, 'giu'))),
    ...(spoken === '' ? [] : at(new RegExp(`(-?${AMOUNT})(?=\\s*${spoken.replace(/s$/, '')}s?\\b)`, 'giu'))),
    ...(kind ? at(kind.pattern) : []),
    ...numbers,
  ];
}

/** What the text asks to be computed. */
function resultIn(source: SourceText): Found<number>[] {
  const found = findExpression(source.text);
  if (found === null || found.result instanceof ArithmeticError) return [];
  return [{ value: toNumber(found.result), start: 0, end: 0 }];
}
