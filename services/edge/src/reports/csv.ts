// CSV as RFC 4180 has it, and so that a spreadsheet that opens it runs nothing of what callers have written into it.

/** Numbers and flags are ours; text may be a caller's. */
export type Cell = string | number | boolean | null;

/** A spreadsheet takes text that begins so for a formula. */
const BEGINS_A_FORMULA = /^[=+\-@\t\r\n]/;
const NEEDS_QUOTES = /[",\r\n]/;
const DECIMALS_MAX = 9;

/** One line with its end. Text that a spreadsheet would run gets an apostrophe in front, which is how it shows as text. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(written).join(',')}\r\n`;
}

function written(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return plainNumber(cell);
  if (typeof cell === 'boolean') return String(cell);
  const text = BEGINS_A_FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Never with an exponent: JavaScript writes a nano-dollar as 1e-9. */
function plainNumber(value: number): string {
  const text = String(value);
  return text.includes('e-') ? value.toFixed(DECIMALS_MAX).replace(/\.?0+$/, '') : text;
}
