// Splits a stream of bytes into lines of text, for example JSON lines.

/**
 * The lines that are not blank, without line ends; the last line may lack one.
 * @param bytes UTF-8, cut anywhere. Errors of the stream are rethrown.
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
