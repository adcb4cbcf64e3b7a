// Quantities in the database: integers in thousandths of the unit (a millisecond of audio, a token / 1000), so that
// sums are exact in any order. Names are escaped, so that MongoDB treats each as one field.
import type { StoredQuantities } from './documents.ts';

const PER_UNIT = 1_000;

/** @throws RangeError for a quantity that is negative, or too large to count its thousandths exactly */
export function storeQuantities(quantities: Readonly<Record<string, number>>): StoredQuantities {
  const stored: StoredQuantities = {};
  for (const [name, quantity] of Object.entries(quantities)) {
    const thousandths = Math.round(quantity * PER_UNIT);
    if (!(thousandths >= 0 && Number.isSafeInteger(thousandths)))
      throw new RangeError(`the quantity ${JSON.stringify(name)} cannot be counted: ${quantity}`);
    if (thousandths !== 0) stored[escapeName(name)] = BigInt(thousandths);
  }
  return stored;
}

/** Converts back to plain numbers; zero is left out. */
export function readQuantities(stored: Readonly<StoredQuantities>): Record<string, number> {
  const quantities: Record<string, number> = {};
  for (const [name, thousandths] of Object.entries(stored))
    if (thousandths !== 0n) quantities[unescapeName(name)] = Number(thousandths) / PER_UNIT;
  return quantities;
}

export function addQuantities(into: StoredQuantities, more: Readonly<StoredQuantities>): void {
  for (const [name, thousandths] of Object.entries(more)) into[name] = (into[name] ?? 0n) + thousandths;
}

export function negateQuantities(quantities: Readonly<StoredQuantities>): StoredQuantities {
  return Object.fromEntries(Object.entries(quantities).map(([name, value]) => [name, -value]));
}

/**
 * Escapes a name: in the path of an update a dot is a separator, a dollar an operator, and an empty name is invalid.
 */
function escapeName(name: string): string {
  if (name === '') return '%';
  return name.replace(/[%.$\0]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function unescapeName(stored: string): string {
  if (stored === '%') return '';
  return stored.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
