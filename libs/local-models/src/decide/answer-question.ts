// Answers one question: collects evidence for each possible answer and applies a softmax.
import type { Turns } from '../turns.ts';
import { evidenceFor } from './evidence.ts';
import { type Facts, meaningOf } from './facts.ts';
import type { Question } from './question.ts';

export type Answer =
  | { type: 'boolean'; probability: number }
  | { type: 'choice'; choice: string; probability: number; probabilities: Record<string, number> }
  | { type: 'score'; score: number; probability: number; probabilities: Record<string, number> }
  | { type: 'refusal'; probability: 0 };

const REFUSAL: Answer = { type: 'refusal', probability: 0 };
/**
 * Log-odds per unit of evidence: a settled field or number (4) gives 97 %, a full match of words (3) gives 93 %. Words
 * alone are never certain.
 */
const LOG_ODDS_PER_EVIDENCE = 0.9;
/** An unmentioned claim is more likely false. */
const UNMENTIONED_LOG_ODDS = -0.8;
/** Levels of a score without named levels. */
const LEVELS_DEFAULT = 5;
/** Evidence that puts a scale without descriptions at two thirds. */
const SCALE_EVIDENCE = 3;
const SCALE_SHARPNESS = 1.2;
const DIGITS = 6;
/** Characters that are read of a question, and of the name and description of an option. */
const TEXT_CHARS_MAX = 2_000;

export async function answerQuestion(facts: Facts, asked: Question, turns: Turns): Promise<Answer> {
  const question = shortened(asked);
  const nothingKnown = facts.fields.length === 0 && facts.statements.length === 0;
  if (nothingKnown || isEmpty(question)) return REFUSAL;
  switch (question.type) {
    case 'boolean':
      return answerBoolean(facts, question);
    case 'choice':
      return answerChoice(facts, question, turns);
    case 'score':
      return answerScore(facts, question, turns);
    default:
      return question.type satisfies never;
  }
}

function shortened(question: Question): Question {
  const short = (text: string) => text.slice(0, TEXT_CHARS_MAX);
  const options = question.options.map((option) => ({
    ...option,
    name: short(option.name),
    description: short(option.description),
  }));
  return { ...question, instructions: short(question.instructions), options };
}

/** Whether the question has no words to compare. */
function isEmpty({ instructions, options, type }: Question): boolean {
  if (type === 'choice' && options.length === 0) return true;
  const said = options.flatMap(({ name, description }) => [name, description]);
  return ![instructions, ...said].some((text) => meaningOf(text).length > 0) && !/\d/.test(instructions);
}

function answerBoolean(facts: Facts, { instructions, options }: Question): Answer {
  const criterion = (name: string) => options.find((option) => option.name === name)?.description ?? '';
  let evidence = evidenceFor(facts, { text: instructions, context: [], kind: 'claim' });
  const context = meaningOf(instructions);
  if (criterion('true')) evidence += evidenceFor(facts, { text: criterion('true'), context, kind: 'claim' });
  if (criterion('false'))
    evidence -= evidenceFor(facts, { text: criterion('false'), context, kind: 'claim' });
  const logOdds = evidence === 0 ? UNMENTIONED_LOG_ODDS : evidence * LOG_ODDS_PER_EVIDENCE;
  return { type: 'boolean', probability: rounded(1 / (1 + Math.exp(-logOdds))) };
}

async function answerChoice(facts: Facts, question: Question, turns: Turns): Promise<Answer> {
  const { options } = question;
  const distribution = softmax(await weigh(facts, question, turns));
  const best = indexOfMax(distribution);
  return {
    type: 'choice',
    choice: options[best]?.name ?? '',
    probability: rounded(distribution[best] ?? 0),
    probabilities: Object.fromEntries(
      options.map(({ name }, index) => [name, rounded(distribution[index] ?? 0)]),
    ),
  };
}

async function answerScore(facts: Facts, question: Question, turns: Turns): Promise<Answer> {
  const { instructions, options } = question;
  const evidence = await weigh(facts, question, turns);
  const described = evidence.some((one) => one !== evidence[0]);
  const levels = described ? evidence : alongScale(facts, instructions, options.length || LEVELS_DEFAULT);
  const distribution = softmax(levels);
  const score = distribution.reduce((sum, probability, level) => sum + level * probability, 0);
  return {
    type: 'score',
    score: rounded(score),
    probability: rounded(Math.max(...distribution)),
    probabilities: Object.fromEntries(
      distribution.map((probability, level) => [String(level), rounded(probability)]),
    ),
  };
}

async function weigh(facts: Facts, { instructions, options }: Question, turns: Turns): Promise<number[]> {
  const context = meaningOf(instructions);
  const evidence: number[] = [];
  for (const { name, description } of options) {
    const ofName = evidenceFor(facts, { text: name, context, kind: 'topic' });
    const ofDescription =
      description === '' ? 0 : evidenceFor(facts, { text: description, context, kind: 'topic' });
    evidence.push(ofName + ofDescription);
    if (turns.over) await turns.next();
  }
  return evidence;
}

/** Levels without descriptions: more evidence gives a higher level. */
function alongScale(facts: Facts, instructions: string, count: number): number[] {
  const evidence = Math.max(0, evidenceFor(facts, { text: instructions, context: [], kind: 'claim' }));
  const position = (count - 1) * (1 - Math.exp(-evidence / SCALE_EVIDENCE));
  return Array.from({ length: count }, (_, level) => -SCALE_SHARPNESS * (level - position) ** 2);
}

function softmax(evidence: number[]): number[] {
  const logits = evidence.map((one) => one * LOG_ODDS_PER_EVIDENCE);
  const most = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function indexOfMax(values: number[]): number {
  return values.indexOf(Math.max(...values));
}

function rounded(value: number): number {
  return Number(value.toFixed(DIGITS));
}
