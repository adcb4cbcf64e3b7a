// A stream of bytes as the lines of its text, as in JSON of which each line is one.

/**
 * The lines that are not blank, without their ends; the last need not have one.
 * @param bytes UTF-8, cut anywhere. Throws what it throws.
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun = '';
  for await (const piece of bytes) {
    const lines = (begun + decoder.decode(piece, { stream: true })).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield line;
  }
  begun += decoder.decode();
  if (begun.trim() !== '') yield begun;
}
