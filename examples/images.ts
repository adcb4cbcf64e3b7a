// Pictures from words, saved as PNG: POST /v1/images/generations.
//   node examples/images.ts "three green trees on a hill"
import { costOf, dollars, openai } from './client.ts';
import { saved } from './saved.ts';

const prompt = process.argv[2] ?? 'two red boats on the sea under a yellow sun';

const { data = [], usage } = await openai().images.generate({
  model: process.env.MODEL ?? 'local/image',
  prompt,
  n: 2,
  size: '1024x1024',
});

console.log(prompt);
for (const [index, { b64_json = '' }] of data.entries())
  console.log(`  ${await saved(`image-${index + 1}.png`, Buffer.from(b64_json, 'base64'))}`);
console.log(`\n${data.length} images, ${dollars(costOf(usage))}`);
