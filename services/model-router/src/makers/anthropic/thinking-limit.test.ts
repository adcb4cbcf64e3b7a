// `reasoning_effort` on models whose thinking has a token budget: a request costs no more than is held.
import { catalogModel } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { expectedCost } from '../../spending/expected-cost.ts';
import { chatFixture, failureOf, HELLO, withMaker } from '../__fixtures__/replayed-chat.ts';
import { anthropic } from './index.ts';

const HAIKU = 'claude-haiku-4-5';
/** One nano-dollar a token out, nothing for a token in: a cost is a number of tokens. */
const priced = catalogModel.parse({
  ...{ id: 'acme/haiku', type: 'language', name: 'Haiku', limits: { output_tokens: 64_000 } },
  modalities: { input: ['text'], output: ['text'] },
  pricing: { input_token: '0', output_token: '0.000000001' },
  upstreams: [{ adapter: 'anthropic', model: HAIKU }],
});
const answer = chatFixture(import.meta.dirname, 'chat-text');

interface Sent {
  max_tokens: number;
  thinking?: { type: string; budget_tokens: number };
}

async function sentFor(body: object): Promise<Sent> {
  let sent: Sent | undefined;
  await withMaker(anthropic, [answer], async ({ call, requests }) => {
    expect((await call('language', { ...HELLO, ...body }, { model: HAIKU })).status).toBe(200);
    sent = requests[0]?.json() as unknown as Sent;
  });
  return sent as Sent;
}

test.each([
  ['low', 20_000, 6_400],
  ['medium', 20_000, 10_000],
  ['high', 4_096, 2_048],
  ['max', 64_000, 32_000],
])(
  'effort %s within %i tokens is sent with that limit, and thinks within it',
  async (effort, most, budget) => {
    for (const field of ['max_tokens', 'max_completion_tokens']) {
      const body = { [field]: most, reasoning_effort: effort };
      const sent = await sentFor(body);
      expect(sent).toMatchObject({ max_tokens: most, thinking: { type: 'enabled', budget_tokens: budget } });
      expect(BigInt(sent.max_tokens)).toBeLessThanOrEqual(
        expectedCost(priced, { ...HELLO, ...body }, false).cost,
      );
    }
  },
);

test('without a caller’s limit, the limit sent is at most the model’s, which is held', async () => {
  const body = { reasoning_effort: 'high' };
  const { max_tokens: most } = await sentFor(body);
  expect(BigInt(most)).toBeLessThanOrEqual(expectedCost(priced, { ...HELLO, ...body }, false).cost);
});

test('the parallel tool calls of the caller stay as they are', async () => {
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
  const body = { ...{ tools, parallel_tool_calls: false, reasoning_effort: 'low' }, max_tokens: 4_096 };
  expect(await sentFor(body)).toMatchObject({
    max_tokens: 4_096,
    thinking: { budget_tokens: 2_048 },
    tool_choice: { disable_parallel_tool_use: true },
  });
});

test('a limit that is too small to think is refused before anything is sent', () =>
  withMaker(anthropic, [], async ({ call, requests }) => {
    const body = { ...HELLO, max_tokens: 2_047, reasoning_effort: 'low' };
    const failure = failureOf(await call('language', body, { model: HAIKU }));
    expect(failure).toMatchObject({ kind: 'unsupported', param: 'reasoning_effort' });
    expect(failure.message).toContain('2048');
    expect(requests).toEqual([]);
  }));

test('effort none disables thinking, within any limit', async () => {
  expect(await sentFor({ max_tokens: 100, reasoning_effort: 'none' })).toMatchObject({
    max_tokens: 100,
    thinking: { type: 'disabled' },
  });
});
