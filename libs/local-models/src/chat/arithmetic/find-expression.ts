// Finds the sum in a sentence: "What is six times 7?" -> `6 * 7`.
import { NUMBER_WORDS } from '../../text/number-words.ts';
import { evaluate, WORK_MAX, type Work } from './expression.ts';
import { ArithmeticError, type Fraction } from './fraction.ts';

interface FoundExpression {
  /** Written with signs: `6 * 7`. */
  expression: string;
  /** The value, or why there is none. */
  result: Fraction | ArithmeticError;
}

/** Characters of a message that are searched. */
const SEARCHED_LENGTH_MAX = 10_000;

const SPOKEN_OPERATORS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:the )?square root of\b|√/g, ' sqrt '],
  [/\b(?:percent|per cent)\b/g, '%'],
  [/%\s*of\b/g, '% *'],
  [/\bplus\b/g, '+'],
  [/\bminus\b|[−–]/g, '-'],
  [/\bmultiplied by\b|\btimes\b|[×·]/g, '*'],
  [/\bdivided by\b|\bover\b|÷/g, '/'],
  [/\bmodulo\b|\bmod\b/g, '%'],
  [/\b(?:raised )?to the power of\b|\*\*/g, '^'],
  [/\bsquared\b/g, '^ 2'],
  [/\bcubed\b/g, '^ 3'],
  [/(?<=\d\s*)x(?=\s*\d)/g, '*'],
  [/(?<=\d\s*)factorial\b/g, '!'],
];

const NUMBER_WORD = new RegExp(`\\b(?:${NUMBER_WORDS.join('|')})\\b`, 'g');
const RUN = /(?:sqrt|[\d.+\-*/^%!()\s])+/g;
const ASKS = /\b(?:what|calculate|compute|evaluate|solve|how much|equals?|result|sum|work out)\b|=/;
const DATE_OR_PHONE = /\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}\/\d{1,2}\/\d{2,4}\b|\d-\d{3,}-\d/;

/** The longest run of the text that is an expression with an operator; null when there is none. */
export function findExpression(text: string): FoundExpression | null {
  const spelled = inSigns(text.slice(0, SEARCHED_LENGTH_MAX));
  const runs = (spelled.match(RUN) ?? []).map((run) => run.trim()).sort((a, b) => b.length - a.length);
  const work = { left: WORK_MAX };
  for (const run of runs) {
    if (!/\d/.test(run) || DATE_OR_PHONE.test(run) || !isMeant(run, spelled)) continue;
    const found = evaluateTrimmed(run, work);
    if (found) return found;
  }
  return null;
}

function inSigns(text: string): string {
  let spelled = text.toLowerCase().replace(NUMBER_WORD, (word) => String(NUMBER_WORDS.indexOf(word)));
  spelled = spelled.replace(/\b\d{1,3}(?:,\d{3})+\b/g, (number) => number.replaceAll(',', ''));
  for (const [spoken, sign] of SPOKEN_OPERATORS) spelled = spelled.replace(spoken, sign);
  return spelled;
}

/** "pages 3-5", "24/7" and "I won 3!" are no sums unless one is asked for, or nothing else is said. */
function isMeant(run: string, text: string): boolean {
  const looksLikeProse = /^\d+(?:[-/]\d+|\s*!+)$/.test(run);
  return !looksLikeProse || ASKS.test(text) || text.replace(/[=?.\s]/g, '') === run;
}

/** The marks of a sentence may stand around the run: a list's dash before it, a full stop or an exclamation after it. */
function evaluateTrimmed(run: string, work: Work): FoundExpression | null {
  const inner = run.replace(/[.!\s]+$/, '');
  for (const candidate of new Set([run, inner, inner.replace(/^[^\d(s]+/, '')])) {
    const result = tryEvaluate(candidate, work);
    if (result) return { expression: spaced(candidate), result };
  }
  return null;
}

function tryEvaluate(candidate: string, work: Work): Fraction | ArithmeticError | null {
  try {
    const evaluation = evaluate(candidate, work);
    return evaluation && evaluation.operators > 0 ? evaluation.value : null;
  } catch (error) {
    if (error instanceof ArithmeticError) return error;
    throw error;
  }
}

function spaced(expression: string): string {
  return expression.replace(/\s+/g, ' ').trim();
}
