// Replaces byte ranges and members of a JSON object, and keeps all other bytes.
import type { Member } from './json-members.ts';

export interface Edit {
  start: number;
  end: number;
  text: string;
}

/**
 * Returns an edited copy. Edits must not overlap; their order is free, but an insertion precedes a replacement at its
 * place.
 */
export function splice(bytes: Buffer, edits: Edit[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    parts.push(bytes.subarray(at, start), Buffer.from(text));
    at = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}

/**
 * A copy of a JSON object with these members: replaced where the object has them, otherwise inserted at its start.
 * @param own the members of the object
 * @param values JSON text by name
 * @param others further edits, of other members
 */
export function withMembers(
  object: Buffer,
  own: ReadonlyMap<string, Member>,
  values: Iterable<readonly [name: string, text: string]>,
  others: Edit[] = [],
): Buffer {
  const edits = [...others];
  const inserted: string[] = [];
  for (const [name, text] of values) {
    const member = own.get(name);
    if (member) edits.push({ start: member.valueStart, end: member.valueEnd, text });
    else inserted.push(`${JSON.stringify(name)}:${text}`);
  }
  const open = object.indexOf('{') + 1;
  const comma = own.size > 0 ? ',' : '';
  if (inserted.length > 0) edits.push({ start: open, end: open, text: inserted.join(',') + comma });
  return splice(object, edits);
}
