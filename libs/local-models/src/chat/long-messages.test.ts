import { describe, expect, it } from 'vitest';
import { createLocalModels } from '../local-models.ts';
import { longestTurn } from '../test-longest-turn.ts';

async function chat(body: Record<string, unknown>): Promise<void> {
  const answer = await createLocalModels({ now: () => 0 }).answer({
    type: 'language',
    model: 'chat',
    body: Buffer.from(JSON.stringify({ model: 'local/chat', ...body })),
    stream: false,
    signal: new AbortController().signal,
  });
  expect(answer.status).toBe(200);
}

describe('local/chat', () => {
  it('recalls from 1,000 statements of many words without blocking other calls', async () => {
    const letters = 'bcdfghjklmnpqrtv';
    const words = [...letters].flatMap((first) => [...letters].map((second) => first + second)).join(' ');
    const content = Array(100).fill(words).join('\n');
    const messages = [
      ...Array.from({ length: 10 }, () => ({ role: 'user', content })),
      { role: 'user', content: `${words}?` },
    ];
    expect(await longestTurn(() => chat({ messages }))).toBeLessThan(2_500);
  });

  it.each([
    ['sum', '15^5000/8^6000-15^5000/8^6000+'.repeat(60)],
    ['sum that turns out to be none', `${'15^5000/8^6000-15^5000/8^6000+'.repeat(60)}(`],
    ['row of sums', '15^5000/8^6000( x '.repeat(110)],
  ])('offers 500 tools for a long %s without blocking other calls', async (_, sum) => {
    const tools = Array.from({ length: 500 }, (_, index) => ({
      type: 'function',
      function: { name: `calculate_${index}`, description: 'Works out a sum' },
    }));
    const messages = [{ role: 'user', content: `${sum}1` }];
    expect(await longestTurn(() => chat({ messages, tools, tool_choice: 'auto' }))).toBeLessThan(1_500);
  });
});
