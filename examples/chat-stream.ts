// A streamed chat: words as they arrive, and the cost in the last chunk.
//   node examples/chat-stream.ts "Count to 20"
import { costOf, dollars, openai } from './client.ts';

const stream = await openai().chat.completions.create({
  model: process.env.MODEL ?? 'local/chat',
  messages: [{ role: 'user', content: process.argv[2] ?? 'Count to 20' }],
  stream: true,
});

for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '');
  if (chunk.usage)
    console.log(`\n\n${chunk.model}, ${chunk.usage.total_tokens} tokens, ${dollars(costOf(chunk.usage))}`);
}
