// What an instruction is about: `Reverse the word "stream"` -> stream.
import type { Conversation } from '../conversation.ts';

/** Text in quotation marks. The length is bounded for marks that never close. */
export const QUOTED =
  /"([^"]{1,1000})"|“([^“”]{1,1000})”|«([^«»]{1,1000})»|`([^`]{1,1000})`|(?<![\p{L}\p{N}])'([^']{1,1000})'(?![\p{L}\p{N}])/u;

/** The first thing in quotation marks. */
export function quotedIn(text: string): string | null {
  const match = QUOTED.exec(text);
  return match?.slice(1).find((group) => group !== undefined) ?? null;
}

/** What follows the first colon or line break: the text that an instruction brings along. */
export function textAfterInstruction(text: string): string | null {
  const mark = /:\s|\n/.exec(text);
  const brought = mark ? text.slice(mark.index + 1).trim() : '';
  return brought === '' ? null : brought;
}

/** Quoted text, else what follows a colon or line break, else what `rest` captures in its first group. */
export function subjectOf({ said, instruction }: Conversation, rest: RegExp): string | null {
  const subject = quotedIn(said) ?? textAfterInstruction(said) ?? rest.exec(instruction)?.[1];
  return subject === undefined || subject === null ? null : bare(subject.trim());
}

/** Without the punctuation at its end and the quotation marks around it. */
function bare(text: string): string {
  const start = /^["'“]/.test(text) ? 1 : 0;
  let end = text.length;
  while (end > start && '?.!'.includes(text.charAt(end - 1))) end -= 1;
  if (end > start && `"'”`.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
