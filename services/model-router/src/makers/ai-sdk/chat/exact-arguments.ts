// Provider packages parse the arguments of a tool call where a maker has them as JSON, so that integers above 2^53 lose
// digits. They are read from the maker's own answer instead.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { hasManyDigits, parseExactly } from '../../../json/exact-integers.ts';

/** Characters of an answer that is searched; a longer one holds a file. */
const ANSWER_LENGTH_MAX = 1024 * 1024;

/** @param answer the maker's answer, JSON */
export function withExactArguments(
  content: LanguageModelV4Content[],
  answer: string,
): LanguageModelV4Content[] {
  if (answer.length > ANSWER_LENGTH_MAX || !hasManyDigits(answer)) return content;
  const said = Map.groupBy(argumentsIn(answer), ({ rounded }) => rounded);
  for (const calls of said.values()) calls.reverse();
  return content.map((part) =>
    part.type === 'tool-call' ? { ...part, input: said.get(part.input)?.pop()?.exact ?? part.input } : part,
  );
}

/** The members of Anthropic's and Google's answers that hold arguments; each may be missing. */
interface Answer {
  content?: { input?: unknown }[];
  candidates?: { content?: { parts?: { functionCall?: { args?: unknown } }[] } }[];
}

/** The arguments of all calls in order, also those without such integers: others may round to the same text. */
function argumentsIn(answer: string): { exact: string; rounded: string }[] {
  const { content = [], candidates = [] } = parsed(answer);
  const parts = candidates[0]?.content?.parts ?? [];
  const said = [...content.map(({ input }) => input), ...parts.map(({ functionCall }) => functionCall?.args)];
  return said
    .filter((one) => typeof one === 'object' && one !== null)
    .map((one) => JSON.stringify(one))
    .map((exact) => ({ exact, rounded: JSON.stringify(JSON.parse(exact)) }));
}

function parsed(answer: string): Answer {
  try {
    return parseExactly(answer) as Answer;
  } catch {
    return {}; // nested so deeply (over 2,000) that only a parser without digits reads it
  }
}
