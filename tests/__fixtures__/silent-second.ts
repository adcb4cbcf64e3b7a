// A second of silence, for transcription models of the test upstream.

/** WAV of 8 kHz, 8 bits, mono. */
export const SILENT_SECOND = silence();

function silence(): Buffer {
  const rate = 8_000;
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + rate, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  for (const [value, at] of [
    [1, 20], // PCM
    [1, 22], // channels
    [1, 32], // bytes of a sample
    [8, 34], // bits of it
  ] as const)
    head.writeUInt16LE(value, at);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.write('data', 36);
  head.writeUInt32LE(rate, 40);
  return Buffer.concat([head, Buffer.alloc(rate, 128)]);
}
