// Text from speech: POST /v1/audio/transcriptions. Without a file, local/speech speaks some digits first.
//   node examples/transcriptions.ts recording.mp3
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { toFile } from 'openai';
import { costOf, dollars, openai } from './client.ts';

const DIGITS = 'seven three nine one';
const path = process.argv[2];

const sound = path === undefined ? await spoken(DIGITS) : await readFile(path);
const { text, duration, usage } = await openai().audio.transcriptions.create({
  model: process.env.MODEL ?? 'local/transcribe',
  file: await toFile(sound, path === undefined ? 'digits.wav' : basename(path)),
  response_format: 'verbose_json',
});

console.log(`${path ?? `"${DIGITS}", spoken by local/speech`}\n  ${text}`);
console.log(`\n${duration} seconds, ${dollars(costOf(usage))}`);

async function spoken(input: string): Promise<Uint8Array> {
  const wanted = { model: 'local/speech', voice: 'alloy', response_format: 'wav' } as const;
  const response = await openai().audio.speech.create({ ...wanted, input });
  return new Uint8Array(await response.arrayBuffer());
}
