// Text in quotation marks: `Say "hello"` -> hello.

/** Text in quotation marks. The length is bounded for marks that never close. */
export const QUOTED =
  /"([^"]{1,1000})"|“([^“”]{1,1000})”|«([^«»]{1,1000})»|`([^`]{1,1000})`|(?<![\p{L}\p{N}])'([^']{1,1000})'(?![\p{L}\p{N}])/u;

/** The first thing in quotation marks. */
export function quotedIn(text: string): string | null {
  const match = QUOTED.exec(text);
  return match?.slice(1).find((group) => group !== undefined) ?? null;
}
