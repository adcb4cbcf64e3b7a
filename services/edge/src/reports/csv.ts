// CSV by RFC 4180, written so that a spreadsheet does not run text of callers as a formula.

/** Numbers and flags are ours; text may come from a caller. */
export type Cell = string | number | boolean | null;

/** A spreadsheet treats text with such a beginning as a formula; in East Asian languages also after a full-width sign. */
const BEGINS_A_FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NEEDS_QUOTES = /[",\r\n]/;
const DECIMALS_MAX = 9;

/** Returns one line with its line break. An apostrophe in front makes a spreadsheet show a formula as text. */
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

/** Formats without an exponent: JavaScript writes a nano-dollar as 1e-9. */
function plainNumber(value: number): string {
  const text = String(value);
  return text.includes('e-') ? value.toFixed(DECIMALS_MAX).replace(/\.?0+$/, '') : text;
}
