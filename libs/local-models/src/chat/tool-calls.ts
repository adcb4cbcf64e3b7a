// Which tools a message asks for, by the words that they share, and with which arguments.
import { identifierStems, keywordsOf, stem, wordsOf } from '../text/words.ts';
import type { Turns } from '../turns.ts';
import { findExpression } from './arithmetic.ts';
import type { Tool, ToolPolicy } from './chat-request.ts';
import type { Conversation } from './conversation.ts';
import { isSchema } from './schema/json-schema.ts';
import type { FillSchema } from './schema/schema-worker.ts';

export interface PlannedCall {
  name: string;
  /** JSON that satisfies the tool's schema. */
  arguments: string;
}

/** What the message asks for; read once for all tools. */
interface Asked {
  /** Stems of its words. */
  spoken: ReadonlySet<string>;
  /** Its sum; null when it has none. */
  expression: string | null;
}

/** A word of the tool's name weighs as much as three of its description or parameters. */
const NAME_WEIGHT = 3;
/** Below it a message is not about a tool. */
const SCORE_MIN = 3;
/** A further tool is called too when it fits nearly as well as the best. */
const NEARLY_AS_WELL = 0.75;
const CALLS_MAX = 8;
/** Characters of a tool's name, and of its description and parameters together, that are read. */
const TOOL_LENGTH_READ_MAX = 20_000;

/** Parts of names that do not say what a tool is about. */
const GENERIC = new Set(
  'get set fetch find list lookup do run call make tool function api current new current retrieve show'
    .split(' ')
    .map(stem),
);
const CALCULATING = new Set(
  ['calculate', 'calculator', 'math', 'expression', 'arithmetic', 'evaluate'].map(stem),
);
/** Tools for one operation only fit sums of that operation. */
const OPERATORS = new Map(
  Object.entries({ add: '+', sum: '+', subtract: '-', multiply: '*', divide: '/' }).map(([name, sign]) => [
    stem(name),
    sign,
  ]),
);

/** Empty: the message is about no tool, and none is required. */
export async function planToolCalls(
  policy: ToolPolicy,
  conversation: Conversation,
  fill: FillSchema,
  turns: Turns,
): Promise<PlannedCall[]> {
  if (policy.tools.length === 0) return [];
  const { instruction } = conversation;
  const asked = {
    spoken: new Set(wordsOf(instruction).map(stem)),
    expression: findExpression(instruction)?.expression ?? null,
  };
  const scored: { tool: Tool; score: number }[] = [];
  for (const tool of policy.tools) {
    scored.push({ tool, score: scoreTool(tool, asked) });
    if (turns.over) await turns.next();
  }
  scored.sort((a, b) => b.score - a.score);
  const best = scored[0]?.score ?? 0;
  const least = Math.max(SCORE_MIN, best * NEARLY_AS_WELL);
  const fitting = scored.filter(({ score }) => score >= least).slice(0, policy.parallel ? CALLS_MAX : 1);
  const called = fitting.length === 0 && policy.required ? scored.slice(0, 1) : fitting;
  const calls: PlannedCall[] = [];
  // One after the other: a refusal leaves no schema of this call waiting for the thread.
  for (const { tool } of called) calls.push(await plan(tool, conversation, fill));
  return calls;
}

async function plan(tool: Tool, { said }: Conversation, fill: FillSchema): Promise<PlannedCall> {
  const value = await fill({ schema: { type: 'object', ...tool.parameters }, text: said });
  return { name: tool.name, arguments: JSON.stringify(value) };
}

function scoreTool(tool: Tool, { spoken, expression }: Asked): number {
  const name = identifierStems(tool.name.slice(0, TOOL_LENGTH_READ_MAX)).filter((part) => !GENERIC.has(part));
  const described = describingStems(tool).difference(GENERIC);
  const byName = name.filter((part) => spoken.has(part)).length * NAME_WEIGHT;
  const byWords = [...described].filter((word) => spoken.has(word) && !name.includes(word)).length;
  return byName + byWords + (calculates(name, described, expression) ? NAME_WEIGHT : 0);
}

/** Whether the message has a sum and the tool works it out. */
function calculates(
  name: readonly string[],
  described: ReadonlySet<string>,
  expression: string | null,
): boolean {
  if (expression === null) return false;
  const signs = new Set(expression.match(/[-+*/%^]/g));
  if (name.some((part) => signs.size === 1 && signs.has(OPERATORS.get(part) ?? ''))) return true;
  return [...name, ...described].some((word) => CALCULATING.has(word));
}

function describingStems(tool: Tool): Set<string> {
  const stems = new Set<string>();
  let left = TOOL_LENGTH_READ_MAX;
  for (const { text, stemsOf } of describingTexts(tool)) {
    if (left <= 0) break;
    for (const one of stemsOf(text.slice(0, left))) stems.add(one);
    left -= text.length + 1;
  }
  return stems;
}

/** The description, and names, descriptions and enum values of the parameters. */
function* describingTexts({ description, parameters }: Tool) {
  yield { text: description, stemsOf: keywordsOf };
  if (!isSchema(parameters.properties)) return;
  for (const [name, property] of Object.entries(parameters.properties)) {
    yield { text: name, stemsOf: identifierStems };
    if (!isSchema(property)) continue;
    if (typeof property.description === 'string') yield { text: property.description, stemsOf: keywordsOf };
    if (Array.isArray(property.enum))
      for (const value of property.enum) yield { text: String(value), stemsOf: keywordsOf };
  }
}
