// Documents ordered by how well they answer a query: POST /v1/rerank.
//   node examples/rerank.ts "how to bake bread"
import { dataOf } from '@switchyard/client';
import { dollars, switchyard } from './client.ts';

const query = process.argv[2] ?? 'renting a computer by the minute';
const documents = [
  'Bread is baked from flour, water and salt in a hot oven.',
  'Computers are rented by the minute; a stopped one costs nothing.',
  'The computer on the desk was bought ten years ago.',
  'Rain falls on the sea.',
];

const { results, usage } = await dataOf(
  switchyard().api.POST('/v1/rerank', {
    body: { model: process.env.MODEL ?? 'local/rerank', query, documents, top_n: 3 },
  }),
);

console.log(query);
for (const { index, relevance_score } of results)
  console.log(`  ${relevance_score.toFixed(3)}  ${documents[index]}`);
console.log(`\n${usage.searches} search, ${dollars(usage.cost)}`);
