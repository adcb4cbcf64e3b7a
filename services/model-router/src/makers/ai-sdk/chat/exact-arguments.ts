// Provider packages parse the arguments of a tool call where a maker has them as JSON, so that integers above 2^53 lose
// digits. They are read from the maker's own answer instead.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { hasManyDigits, isExactInteger, parseExactly } from '../../../json/exact-integers.ts';

/** Characters of an answer that is searched; a longer one holds a file. */
const ANSWER_LENGTH_MAX = 1024 * 1024;

/** @param answer the maker's answer, JSON */
export function withExactArguments(
  content: LanguageModelV4Content[],
  answer: string,
): LanguageModelV4Content[] {
  if (answer.length > ANSWER_LENGTH_MAX || !hasManyDigits(answer)) return content;
  const exact = inexactObjects(answer);
  return content.map((part) =>
    part.type === 'tool-call' ? { ...part, input: exact.get(part.input)?.shift() ?? part.input } : part,
  );
}

/** The objects with such integers, in order, by the text that a package makes of them. */
function inexactObjects(json: string): Map<string, string[]> {
  const texts = new Map<string, string[]>();
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null || isExactInteger(value)) return;
    const exact = JSON.stringify(value);
    const inexact = JSON.stringify(JSON.parse(exact));
    if (exact === inexact) return;
    texts.set(inexact, [...(texts.get(inexact) ?? []), exact]);
    Object.values(value).forEach(visit);
  };
  visit(parseExactly(json));
  return texts;
}
