// Vectors for texts, ranked by their similarity to a question: POST /v1/embeddings.
//   node examples/embeddings.ts "Will there be rain?"
import { costOf, dollars, openai } from './client.ts';

const question = process.argv[2] ?? 'Is it going to rain tomorrow?';
const texts = [
  'Heavy rain and strong wind are expected tomorrow.',
  'Bake the bread in a hot oven for forty minutes.',
  'The striker scored two goals in the final match.',
];

const { data, usage } = await openai().embeddings.create({
  model: process.env.MODEL ?? 'local/embed',
  input: [question, ...texts],
});

const [asked = [], ...vectors] = data.map(({ embedding }) => embedding);
const ranked = texts
  .map((text, index) => ({ text, similarity: dot(asked, vectors[index] ?? []) }))
  .sort((a, b) => b.similarity - a.similarity);

console.log(question);
for (const { text, similarity } of ranked) console.log(`  ${similarity.toFixed(3)}  ${text}`);
console.log(`\n${usage.prompt_tokens} tokens, ${dollars(costOf(usage))}`);

/** The cosine, because the vectors have length 1. */
function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
