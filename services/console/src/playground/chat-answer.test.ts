import { expect, test } from 'vitest';
import { chatAnswers, NO_ANSWER } from './chat-answer.ts';

async function answerOf(...deltas: object[]) {
  const chunks = deltas.map((delta) => ({ model: 'acme/chat-1', choices: [{ index: 0, delta }] }));
  const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  let answer = NO_ANSWER;
  for await (const received of chatAnswers(new Response(`${events}data: [DONE]\n\n`))) answer = received;
  return answer;
}

test('the text of an answer is its content, or the words of a refusal', async () => {
  expect(await answerOf({ content: 'Hel' }, { content: 'lo' })).toMatchObject({ text: 'Hello' });
  expect(await answerOf({ content: null, refusal: 'I will' }, { refusal: ' not.' })).toMatchObject({
    text: 'I will not.',
  });
});
