// Replaces stretches of bytes, leaving all others as they are.

export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** A copy of `bytes` with the edits made; they must not overlap, and may come in any order (an insertion before a replacement at its place). */
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
