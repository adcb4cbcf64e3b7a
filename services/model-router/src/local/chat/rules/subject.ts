// What an instruction is about: `Reverse the word "stream"` -> stream.

const QUOTED = /"([^"]+)"|“([^”]+)”|«([^»]+)»|`([^`]+)`|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])/u;

/** The first thing in quotation marks. */
export function quotedIn(text: string): string | null {
  const match = QUOTED.exec(text);
  return match?.slice(1).find((group) => group !== undefined) ?? null;
}

/** What follows a colon or a line break: the text that an instruction brings along. */
export function textAfterInstruction(text: string): string | null {
  const match = /(?::\s|:\s*\n|\n)([\s\S]*\S)\s*$/.exec(text);
  return match?.[1]?.trim() ?? null;
}

/** Quoted text, else what follows a colon or line break, else what `rest` captures in its first group. */
export function subjectOf(text: string, rest: RegExp): string | null {
  const subject = quotedIn(text) ?? textAfterInstruction(text) ?? rest.exec(text)?.[1];
  return subject === undefined || subject === null
    ? null
    : subject.trim().replace(/^["'“]|["'”]?[?.!]*$/g, '');
}
