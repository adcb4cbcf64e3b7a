import { describe, expect, it } from 'vitest';
import { createLocalModels } from '../local-models.ts';
import { longestTurn } from '../test-longest-turn.ts';

const LENGTH = 10_000_000;
const said = (content: string) => ({ role: 'user', content });
const long = (part: string) => part.repeat(LENGTH / part.length);
const CALLS = Array.from({ length: 20_000 }, (_, index) => String(index));

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
  it.each<[string, Record<string, unknown>]>([
    ['trims a run of question marks', { messages: [said(`Say ${'?'.repeat(99_000)}x`)] }],
    ['looks for what to say in spaces', { messages: [said(`Say${' '.repeat(1_900)}x?`)] }],
    [
      'recalls from a long conversation',
      { messages: [...Array(100).fill(said('Ice. '.repeat(20_000))), said('Where is the ice?')] },
    ],
    [
      'tells the results of many tools',
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: CALLS.map((id) => ({ id, function: { name: 'f', arguments: '' } })),
          },
          ...CALLS.map((id) => ({ role: 'tool', content: '', tool_call_id: id })),
        ],
      },
    ],
    [
      'reads a tool of long texts',
      {
        messages: [said('Weather in Oslo?')],
        tools: [
          {
            type: 'function',
            function: {
              name: 'get_weather',
              description: long('weather in a city, '),
              parameters: { properties: { city: { enum: Array(100_000).fill('Oslo') } } },
            },
          },
        ],
      },
    ],
  ])('%s without blocking other calls', async (_, body) => {
    expect(await longestTurn(() => chat(body))).toBeLessThan(500);
  });

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
