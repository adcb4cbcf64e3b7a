// A chat with a language model: POST /v1/chat/completions.
//   node examples/chat.ts "Who are you?"
//   MODEL=acme/chat-1 node examples/chat.ts
import { costOf, dollars, openai } from './client.ts';

const question = process.argv[2] ?? 'What is 6 * 7?';

const answer = await openai().chat.completions.create({
  model: process.env.MODEL ?? 'local/chat',
  messages: [{ role: 'user', content: question }],
});

console.log(answer.choices[0]?.message.content);
console.log(`\n${answer.model}, ${answer.usage?.total_tokens} tokens, ${dollars(costOf(answer.usage))}`);
