// The part of regular expressions that schemas use (literals, classes, groups, alternatives, counts, anchors), without
// running anybody's regular expression: matching is by sets of positions, so no pattern can take exponential time, and
// a pattern can also write a text of its own. What goes beyond (lookaround, back references) is not understood.

/** Characters that the counts of a pattern may ask for, inner counts times outer ones. */
const SAMPLE_LENGTH_MAX = 1_000;
/** Groups in groups: each level may double the work of matching. */
const GROUP_DEPTH_MAX = 8;
const PATTERN_LENGTH_MAX = 1_000;

type Node =
  | { type: 'set'; includes: (character: string) => boolean; sample: string }
  | { type: 'sequence'; parts: Node[] }
  | { type: 'choice'; options: Node[] }
  | { type: 'repeat'; part: Node; min: number; max: number }
  | { type: 'start' }
  | { type: 'end' };

export interface TextPattern {
  /** Whether the pattern is found in the text, as JSON Schema has it. */
  matches: (text: string) => boolean;
  /** A short text in which it is found. */
  sample: () => string;
}

/** null when the pattern uses what is not understood here. */
export function parseTextPattern(source: string): TextPattern | null {
  if (source.length > PATTERN_LENGTH_MAX) return null;
  try {
    const node = new PatternParser(source).parse();
    return { matches: (text) => matches(node, text), sample: () => sampleOf(node) };
  } catch (error) {
    if (error instanceof NotUnderstood) return null;
    throw error;
  }
}

function matches(node: Node, text: string): boolean {
  const characters = [...text];
  const everywhere = new Set(Array.from({ length: characters.length + 1 }, (_, at) => at));
  return advance(node, characters, everywhere).size > 0;
}

/** Where a match may end that starts at one of these positions. */
function advance(node: Node, text: readonly string[], from: ReadonlySet<number>): Set<number> {
  switch (node.type) {
    case 'set':
      return new Set(
        [...from].filter((at) => at < text.length && node.includes(text[at] ?? '')).map((at) => at + 1),
      );
    case 'sequence':
      return node.parts.reduce((positions, part) => advance(part, text, positions), new Set(from));
    case 'choice':
      return new Set(node.options.flatMap((option) => [...advance(option, text, from)]));
    case 'repeat':
      return repeat(node, text, from);
    case 'start':
      return new Set([...from].filter((at) => at === 0));
    case 'end':
      return new Set([...from].filter((at) => at === text.length));
  }
}

function repeat(
  { part, min, max }: { part: Node; min: number; max: number },
  text: readonly string[],
  from: ReadonlySet<number>,
): Set<number> {
  let positions = new Set(from);
  for (let count = 0; count < min; count += 1) positions = advance(part, text, positions);
  const reached = new Set(positions);
  for (let count = min; count < max && positions.size > 0; count += 1) {
    positions = advance(part, text, positions).difference(reached);
    for (const at of positions) reached.add(at);
  }
  return reached;
}

function sampleOf(node: Node): string {
  switch (node.type) {
    case 'set':
      return node.sample;
    case 'sequence':
      return node.parts.map(sampleOf).join('');
    case 'choice':
      return node.options[0] ? sampleOf(node.options[0]) : '';
    case 'repeat':
      return sampleOf(node.part).repeat(node.min);
    case 'start':
    case 'end':
      return '';
  }
}

/** Characters of the sample, without writing it. */
function lengthMin(node: Node): number {
  switch (node.type) {
    case 'set':
      return 1;
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + lengthMin(part), 0);
    case 'choice':
      return node.options[0] ? lengthMin(node.options[0]) : 0;
    case 'repeat':
      return node.min * lengthMin(node.part);
    case 'start':
    case 'end':
      return 0;
  }
}

class NotUnderstood extends Error {}

const CLASSES: Readonly<Record<string, { test: RegExp; sample: string }>> = {
  d: { test: /\d/, sample: '0' },
  D: { test: /\D/, sample: 'a' },
  w: { test: /\w/, sample: 'a' },
  W: { test: /\W/, sample: '-' },
  s: { test: /\s/, sample: ' ' },
  S: { test: /\S/, sample: 'a' },
};

const CONTROL: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', '0': '\0' };

/** What a class may be sampled from, nicest first. */
const SAMPLES =
  'aA0-_. !"#$%&\'()*+,/:;<=>?@[]^`{|}~bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ123456789';

class PatternParser {
  readonly #characters: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#characters = [...source];
  }

  parse(): Node {
    const node = this.#choice();
    if (this.#at < this.#characters.length) throw new NotUnderstood();
    return node;
  }

  #choice(): Node {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return options.length === 1 && options[0] ? options[0] : { type: 'choice', options };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek())
      parts.push(this.#counted(this.#atom()));
    return { type: 'sequence', parts };
  }

  #atom(): Node {
    const character = this.#next();
    if (character === '^') return { type: 'start' };
    if (character === '$') return { type: 'end' };
    if (character === '(') return this.#group();
    if (character === '[') return this.#set();
    if (character === '\\') return this.#escape();
    if (character === '.') return { type: 'set', includes: (one) => one !== '\n', sample: 'a' };
    if ('*+?{'.includes(character)) throw new NotUnderstood();
    return literal(character);
  }

  #group(): Node {
    this.#depth += 1;
    if (this.#depth > GROUP_DEPTH_MAX) throw new NotUnderstood();
    if (this.#take('?')) {
      // Only groups that capture nothing, or by name: no lookaround.
      if (this.#take('<')) {
        if (this.#peek() === '=' || this.#peek() === '!') throw new NotUnderstood();
        while (this.#next() !== '>');
      } else if (!this.#take(':')) throw new NotUnderstood();
    }
    const node = this.#choice();
    if (!this.#take(')')) throw new NotUnderstood();
    this.#depth -= 1;
    return node;
  }

  #escape(): Node {
    const character = this.#next();
    const known = CLASSES[character];
    if (known) return { type: 'set', includes: (one) => known.test.test(one), sample: known.sample };
    return literal(this.#escaped(character));
  }

  #escaped(character: string): string {
    const control = CONTROL[character];
    if (control !== undefined) return control;
    if (character === 'u' || character === 'x') {
      const digits = Array.from({ length: character === 'u' ? 4 : 2 }, () => this.#next()).join('');
      if (!/^[\da-f]+$/i.test(digits)) throw new NotUnderstood();
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    // \b, \B, \1, \k, \p and the like.
    if (/[\p{L}\p{N}]/u.test(character)) throw new NotUnderstood();
    return character;
  }

  #set(): Node {
    const negated = this.#take('^');
    const tests: ((one: string) => boolean)[] = [];
    while (!this.#take(']')) tests.push(this.#member());
    const inside = (one: string) => tests.some((test) => test(one));
    const includes = negated ? (one: string) => !inside(one) : inside;
    const sample = [...SAMPLES].find(includes) ?? this.#rareSample(includes);
    return { type: 'set', includes, sample };
  }

  /** For a class that has none of the usual characters. */
  #rareSample(includes: (one: string) => boolean): string {
    for (let code = 0x80; code < 0xd800; code += 1)
      if (includes(String.fromCharCode(code))) return String.fromCharCode(code);
    throw new NotUnderstood();
  }

  /** A character, a class or a range within square brackets. */
  #member(): (one: string) => boolean {
    const first = this.#next();
    if (first === '\\') {
      const escaped = this.#next();
      const known = CLASSES[escaped];
      if (known) return (one) => known.test.test(one);
      return this.#range(this.#escaped(escaped));
    }
    return this.#range(first);
  }

  #range(low: string): (one: string) => boolean {
    if (this.#peek() !== '-' || this.#characters[this.#at + 1] === ']') return (one) => one === low;
    this.#next();
    let high = this.#next();
    if (high === '\\') high = this.#escaped(this.#next());
    return (one) => one >= low && one <= high;
  }

  #counted(node: Node): Node {
    const [min, max] = this.#count() ?? [1, 1];
    if (min === 1 && max === 1) return node;
    if (min * Math.max(1, lengthMin(node)) > SAMPLE_LENGTH_MAX) throw new NotUnderstood();
    // A lazy or greedy count finds the same texts.
    this.#take('?');
    return { type: 'repeat', part: node, min, max };
  }

  #count(): [number, number] | null {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    if (this.#peek() !== '{') return null;
    const rest = this.#characters.slice(this.#at, this.#at + 12).join('');
    const match = /^\{(\d+)(,(\d*))?\}/.exec(rest);
    if (!match) throw new NotUnderstood();
    this.#at += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] ? Number(match[3]) : Number.POSITIVE_INFINITY;
    if (max < min) throw new NotUnderstood();
    return [min, max];
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw new NotUnderstood();
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}

function literal(character: string): Node {
  return { type: 'set', includes: (one) => one === character, sample: character };
}
