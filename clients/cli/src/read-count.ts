// Options that are whole numbers.
import { InvalidArgumentError } from 'commander';

/** For `option` of commander. Not NaN, which JSON would turn into null: no limit, or the default. */
export function readCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Write a whole number.');
  return Number(text);
}
