// A parser for arithmetic: + - * / % (modulo, or percent) ^ ! sqrt and brackets, with the usual precedence. It computes
// exactly while it reads.
import {
  ArithmeticError,
  add,
  bitsOf,
  divide,
  type Fraction,
  factorial,
  fraction,
  modulo,
  multiply,
  negate,
  parseFraction,
  power,
  squareRoot,
} from './fraction.ts';

/** Brackets, signs and powers inside one another. */
const DEPTH_MAX = 100;

/** Maximum work: the sum over the steps of the square of the bits in their numbers. Takes about 50 ms. */
export const WORK_MAX = 3e9;

const TOKEN = /\s*(?:(\d+(?:\.\d+)?|\.\d+)|(sqrt)|([-+*/%^!()]))/y;

interface Evaluation {
  value: Fraction;
  /** Operators used; 0: just a number. */
  operators: number;
}

/** The work that is left; several evaluations can share it. */
export interface Work {
  left: number;
}

/**
 * The value of an expression; null when the text is none.
 * @throws ArithmeticError for an expression without an answer: division by zero, too long a number, or too much work.
 */
export function evaluate(text: string, work: Work = { left: WORK_MAX }): Evaluation | null {
  const tokens = tokenize(text);
  return tokens === null || tokens.length === 0 ? null : new Parser(tokens, work).parse();
}

function tokenize(text: string): string[] | null {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text);
    if (!match) return null;
    tokens.push(match[1] ?? match[2] ?? match[3] ?? '');
  }
  return tokens;
}

class NotAnExpression extends Error {}

/** Recursive descent: sum > product > sign > power > postfix > atom. */
class Parser {
  readonly #tokens: readonly string[];
  readonly #work: Work;
  #at = 0;
  #operators = 0;
  #depth = 0;

  constructor(tokens: readonly string[], work: Work) {
    this.#tokens = tokens;
    this.#work = work;
  }

  parse(): Evaluation | null {
    try {
      const value = this.#sum();
      return this.#at === this.#tokens.length ? { value, operators: this.#operators } : null;
    } catch (error) {
      // An arithmetic fault in what turns out to be no expression is no answer to anything.
      if (error instanceof NotAnExpression) return null;
      throw error;
    }
  }

  #sum(): Fraction {
    let value = this.#product();
    for (let sign = this.#take('+', '-'); sign !== null; sign = this.#take('+', '-')) {
      const right = this.#product();
      this.#spend(value, right);
      value = add(value, sign === '+' ? right : negate(right));
    }
    return value;
  }

  #product(): Fraction {
    let value = this.#signed();
    for (let sign = this.#take('*', '/', '%'); sign !== null; sign = this.#take('*', '/', '%')) {
      const right = this.#signed();
      this.#spend(value, right);
      value =
        sign === '*' ? multiply(value, right) : sign === '/' ? divide(value, right) : modulo(value, right);
    }
    return value;
  }

  #signed(): Fraction {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new ArithmeticError('that is nested too deeply for me');
    try {
      if (this.#takeSilently('-')) return negate(this.#signed());
      if (this.#takeSilently('+')) return this.#signed();
      return this.#power();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Right-associative; binds tighter than a sign before it, looser than one after it: -2^2 = -4, 2^-1 = 0.5. */
  #power(): Fraction {
    const base = this.#postfix();
    return this.#take('^') === null ? base : this.#spent(power(base, this.#signed()));
  }

  #postfix(): Fraction {
    let value = this.#atom();
    for (;;)
      if (this.#take('!') !== null) value = this.#spent(factorial(value));
      else if (this.#percentFollows()) value = this.#spent(multiply(value, this.#percent()));
      else return value;
  }

  #atom(): Fraction {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token === 'sqrt') {
      this.#operators += 1;
      return this.#spent(squareRoot(this.#signed()));
    }
    if (token === '(') {
      const value = this.#sum();
      if (!this.#takeSilently(')')) throw new NotAnExpression();
      return value;
    }
    if (token === undefined || !/\d/.test(token)) throw new NotAnExpression();
    return parseFraction(token);
  }

  /** `%` is a percent sign unless a number, a bracket or a root comes after it: then it is modulo. */
  #percentFollows(): boolean {
    if (this.#tokens[this.#at] !== '%') return false;
    const next = this.#tokens[this.#at + 1];
    return next === undefined || !/^[\d.(s]/.test(next);
  }

  #percent(): Fraction {
    this.#take('%');
    return fraction(1n, 100n);
  }

  #spend(...values: Fraction[]): void {
    const bits = values.reduce((sum, value) => sum + bitsOf(value.numerator) + bitsOf(value.denominator), 0);
    this.#work.left -= bits ** 2;
    if (this.#work.left < 0) throw new ArithmeticError('that takes too long to work out');
  }

  #spent(value: Fraction): Fraction {
    this.#spend(value);
    return value;
  }

  #take(...operators: string[]): string | null {
    const token = this.#tokens[this.#at];
    if (token === undefined || !operators.includes(token)) return null;
    this.#at += 1;
    this.#operators += 1;
    return token;
  }

  #takeSilently(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }
}
