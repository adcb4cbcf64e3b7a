// Cuts the texts of a result to their limit, and makes each valid Unicode: half of a surrogate pair becomes U+FFFD, since
// clients in Rust and Python refuse a message that has one.
import { TEXT_CHARACTERS_MAX } from './tool.ts';

export function cut(text: string): string {
  const shown = text.slice(0, TEXT_CHARACTERS_MAX).toWellFormed();
  const over = text.length - TEXT_CHARACTERS_MAX;
  return over <= 0 ? shown : `${shown}\n[${over} more characters are cut]`;
}

/** Cuts all texts of a JSON value. */
export function cutTexts(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cutTexts(member)]));
}
