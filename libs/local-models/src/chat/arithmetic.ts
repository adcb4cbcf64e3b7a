// Finds the sum in a sentence and works it out: "What is six times 7?" -> `6 * 7`, 42.
import { NUMBER_WORDS } from '../text/number-words.ts';

interface Sum {
  /** Written with signs: `6 * 7`. */
  expression: string;
  /** Of 15 digits; not finite where there is no answer. */
  result: number;
}

/** Characters of a message that are searched. */
const SEARCHED_LENGTH_MAX = 10_000;
/** Brackets, signs and powers inside one another. */
const DEPTH_MAX = 200;
/** Exact decimal digits of a double. */
const DIGITS = 15;

const SPOKEN_OPERATORS: readonly (readonly [RegExp, string])[] = [
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
];
const NUMBER_WORD = new RegExp(`\\b(?:${NUMBER_WORDS.join('|')})\\b`, 'g');
const RUN = /[\d.+\-*/^%()\s]+/g;
const TOKEN = /\d+(?:\.\d+)?|\.\d+|\S/g;
const ASKS = /\b(?:what|calculate|compute|evaluate|solve|how much|equals?|result|sum|work out)\b|=/;
const DATE_OR_PHONE = /\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}\/\d{1,2}\/\d{2,4}\b|\d-\d{3,}-\d/;

/** A sign before a number binds tighter than a product and looser than a power: -2^2 = -4. */
const SIGN_RANK = 3;
const POWER_RANK = 4;
const OPERATORS = new Map<string | undefined, { rank: number; apply: (a: number, b: number) => number }>([
  ['+', { rank: 1, apply: (a, b) => a + b }],
  ['-', { rank: 1, apply: (a, b) => a - b }],
  ['*', { rank: 2, apply: (a, b) => a * b }],
  ['/', { rank: 2, apply: (a, b) => a / b }],
  // The remainder with the sign of the divisor, as in mathematics.
  ['%', { rank: 2, apply: (a, b) => a - b * Math.floor(a / b) }],
  ['^', { rank: POWER_RANK, apply: (a, b) => a ** b }],
]);

/** The longest run of the text that is an expression with an operator; null when there is none. */
export function findExpression(text: string): Sum | null {
  const spelled = inSigns(text.slice(0, SEARCHED_LENGTH_MAX));
  const runs = (spelled.match(RUN) ?? []).map((run) => run.trim()).sort((a, b) => b.length - a.length);
  for (const run of runs) {
    if (!/\d/.test(run) || DATE_OR_PHONE.test(run) || !isMeant(run, spelled)) continue;
    // The marks of a sentence may stand around the run: a list's dash before it, a full stop after it.
    const inner = run.replace(/[.\s]+$/, '');
    for (const candidate of new Set([run, inner, inner.replace(/^[^\d(]+/, '')])) {
      const result = evaluate(candidate);
      if (result !== null) return { expression: candidate.replace(/\s+/g, ' ').trim(), result };
    }
  }
  return null;
}

/** The value of an expression; null if the text is not one or has no operator. */
export function evaluate(text: string): number | null {
  try {
    return new Parser(text.match(TOKEN) ?? []).parse();
  } catch (error) {
    if (error instanceof NotAnExpression) return null;
    throw error;
  }
}

function inSigns(text: string): string {
  let spelled = text.toLowerCase().replace(NUMBER_WORD, (word) => String(NUMBER_WORDS.indexOf(word)));
  spelled = spelled.replace(/\b\d{1,3}(?:,\d{3})+\b/g, (number) => number.replaceAll(',', ''));
  for (const [spoken, sign] of SPOKEN_OPERATORS) spelled = spelled.replace(spoken, sign);
  return spelled;
}

/** "pages 3-5" and "24/7" are not sums unless one is asked for, or they are all the text. */
function isMeant(run: string, text: string): boolean {
  const looksLikeProse = /^\d+[-/]\d+$/.test(run);
  return !looksLikeProse || ASKS.test(text) || text.replace(/[=?.\s]/g, '') === run;
}

class NotAnExpression extends Error {}

/** Precedence climbing. */
class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #operators = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  parse(): number | null {
    const value = this.#expression(1, 0);
    if (this.#at < this.#tokens.length || this.#operators === 0) return null;
    return Number(value.toPrecision(DIGITS));
  }

  #expression(rankMin: number, depth: number): number {
    if (depth > DEPTH_MAX) throw new NotAnExpression();
    let value = this.#operand(depth);
    for (;;) {
      const operator = OPERATORS.get(this.#tokens[this.#at]);
      if (operator === undefined || operator.rank < rankMin) return value;
      this.#at += 1;
      this.#operators += 1;
      const rank = operator.rank === POWER_RANK ? POWER_RANK : operator.rank + 1;
      value = operator.apply(value, this.#expression(rank, depth + 1));
    }
  }

  #operand(depth: number): number {
    const token = this.#tokens[this.#at] ?? '';
    this.#at += 1;
    if (token === '-') return -this.#expression(SIGN_RANK, depth + 1);
    if (token === '+') return this.#expression(SIGN_RANK, depth + 1);
    let value = Number(token);
    if (token === '(') {
      value = this.#expression(1, depth + 1);
      if (this.#tokens[this.#at] !== ')') throw new NotAnExpression();
      this.#at += 1;
    } else if (!/\d/.test(token)) throw new NotAnExpression();
    if (!this.#percentFollows()) return value;
    this.#at += 1;
    this.#operators += 1;
    return value / 100;
  }

  /** `%` is a percent sign unless a number or a bracket comes after it: then it is modulo. */
  #percentFollows(): boolean {
    return this.#tokens[this.#at] === '%' && !/^[\d.(]/.test(this.#tokens[this.#at + 1] ?? '');
  }
}
