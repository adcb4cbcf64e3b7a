// Options that are numbers. Not NaN, which JSON would turn into null: no limit, or the default.
import { InvalidArgumentError } from 'commander';

/** For `option` of commander, as is `readNumber`. */
export function readCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Write a whole number.');
  return Number(text);
}

export function readNumber(text: string): number {
  if (!/^\d*\.?\d+$/.test(text)) throw new InvalidArgumentError('Write a number.');
  return Number(text);
}
