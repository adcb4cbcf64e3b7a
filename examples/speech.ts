// Speech from text, saved as a file: POST /v1/audio/speech. The body is audio, so the cost is in a header.
//   node examples/speech.ts "The quick brown fox"
import { dollars, openai } from './client.ts';
import { saved } from './saved.ts';

const input = process.argv[2] ?? 'Good morning. This is a machine that speaks.';

const response = await openai().audio.speech.create({
  model: process.env.MODEL ?? 'local/speech',
  voice: process.env.VOICE ?? 'alloy',
  input,
  response_format: 'mp3',
});
const sound = new Uint8Array(await response.arrayBuffer());

console.log(input);
console.log(
  `  ${await saved('speech.mp3', sound)}, ${response.headers.get('content-type')}, ${sound.length} bytes`,
);
console.log(`\n${[...input].length} characters, ${dollars(Number(response.headers.get('x-service-cost')))}`);
