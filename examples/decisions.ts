// Questions about a situation, each answered with a probability: POST /v1/decisions.
//   node examples/decisions.ts "The invoice is wrong, I was charged twice!"
import { dataOf } from '@switchyard/client';
import { dollars, switchyard } from './client.ts';

const text = process.argv[2] ?? 'The parcel never arrived. I want my money back at once!';

const { answers, usage } = await dataOf(
  switchyard().api.POST('/v1/decisions', {
    body: {
      model: process.env.MODEL ?? 'local/decide',
      state: { text, amount: 120 },
      questions: {
        large: { type: 'boolean', instructions: 'Is the amount over 100?' },
        team: {
          type: 'choice',
          instructions: 'Which team is it for?',
          criteria: {
            refunds: 'wants money back',
            sales: 'wants to buy something',
            praise: 'says thank you',
          },
        },
        anger: { type: 'score', instructions: 'How angry is it?', criteria: ['calm', 'annoyed', 'furious'] },
      },
    },
  }),
);

console.log(text);
for (const [name, { choice, score, probability }] of Object.entries(answers))
  console.log(
    `  ${name.padEnd(6)} ${String(choice ?? score ?? 'true').padEnd(8)} p = ${probability.toFixed(2)}`,
  );
console.log(`\n${usage.inputTokens + usage.outputTokens} tokens, ${dollars(usage.cost)}`);
