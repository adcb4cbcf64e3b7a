import { catalogModel } from '@switchyard/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { priceTokens, readUsage } from './pricing.ts';

const model = (pricing: Record<string, string>) =>
  catalogModel.parse({
    id: 'acme/chat',
    type: 'language',
    name: 'Chat',
    modalities: { input: ['text'], output: ['text'] },
    pricing: { input_token: '0.000003', output_token: '0.000015', ...pricing },
    upstreams: [{ adapter: 'local', model: 'chat' }],
  });

const used = {
  inputTokens: 1000,
  cachedInputTokens: 300,
  cacheWriteInputTokens: 400,
  cacheWrite1hInputTokens: 100,
  outputTokens: 10,
};

test('cache reads, cache writes and writes for an hour each have their own price', () => {
  const prices = {
    cached_input_token: '0.0000003',
    cache_write_input_token: '0.00000375',
    cache_write_1h_input_token: '0.000006',
  };
  const { lines, cost, quantities } = priceTokens(model(prices), used);
  expect(lines).toEqual([
    { unit: 'input_token', quantity: 300, rate: '0.000003' },
    { unit: 'cached_input_token', quantity: 300, rate: '0.0000003' },
    { unit: 'cache_write_input_token', quantity: 300, rate: '0.00000375' },
    { unit: 'cache_write_1h_input_token', quantity: 100, rate: '0.000006' },
    { unit: 'output_token', quantity: 10, rate: '0.000015' },
  ]);
  expect(cost).toBe('0.002865');
  expect(quantities).toMatchObject({
    input_tokens: 1000,
    cached_input_tokens: 300,
    cache_write_input_tokens: 400,
  });
});

test('cache tokens without their own price cost as much as other input', () => {
  const { lines } = priceTokens(model({}), used);
  expect(lines).toEqual([
    { unit: 'input_token', quantity: 1000, rate: '0.000003' },
    { unit: 'output_token', quantity: 10, rate: '0.000015' },
  ]);
});

describe('sound', () => {
  const heard = (details: object, rates: Record<string, string>) => {
    const used = readUsage({ prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: details });
    return priceTokens(model(rates), used as NonNullable<typeof used>);
  };
  const lines = (details: object, rates: Record<string, string>) =>
    heard(details, rates)
      .lines.slice(0, -1)
      .map(({ unit, quantity, rate }) => [unit, quantity, rate]);
  const counted = { cached_tokens: 300, audio_tokens: 600, cached_audio_tokens: 200 };

  test('has its own price, cached or not', () => {
    const rates = {
      cached_input_token: '0.0000003',
      audio_input_token: '0.000007',
      cached_audio_input_token: '0.0000007',
    };
    expect(lines(counted, rates)).toEqual([
      ['input_token', 300, '0.000003'],
      ['cached_audio_input_token', 200, '0.0000007'],
      ['cached_input_token', 100, '0.0000003'],
      ['audio_input_token', 400, '0.000007'],
    ]);
    expect(heard(counted, rates).quantities).toMatchObject({ input_tokens: 1000, audio_input_tokens: 600 });
  });

  test('from the cache costs as much as other cached input, or as other sound if that has no price', () => {
    const audio_input_token = '0.000007';
    expect(lines(counted, { audio_input_token, cached_input_token: '0.0000003' })).toEqual([
      ['input_token', 300, '0.000003'],
      ['cached_audio_input_token', 200, '0.0000003'],
      ['cached_input_token', 100, '0.0000003'],
      ['audio_input_token', 400, '0.000007'],
    ]);
    expect(lines(counted, { audio_input_token })).toEqual([
      ['input_token', 400, '0.000003'],
      ['audio_input_token', 600, '0.000007'],
    ]);
  });

  test('is what the cache had, as far as it may be, when a maker does not count its cached sound', () => {
    const rates = { audio_input_token: '0.000007', cached_input_token: '0.0000003' };
    const details = { cached_tokens: 512, audio_tokens: 600 };
    expect(lines(details, rates)).toEqual([
      ['input_token', 400, '0.000003'],
      ['cached_audio_input_token', 512, '0.0000003'],
      ['audio_input_token', 88, '0.000007'],
    ]);
    expect(lines({ ...details, cached_audio_tokens: 0 }, rates)).toEqual([
      ['input_token', 0, '0.000003'],
      ['cached_input_token', 512, '0.0000003'],
      ['audio_input_token', 488, '0.000007'],
    ]);
  });

  test.each([-1, 1.5, '600', {}])(
    'is read as text when its count is %j; the other counts stay',
    (strange) => {
      const audio_input_token = '0.000007';
      const input = (details: object) => lines(details, { audio_input_token });
      expect(input({ audio_tokens: strange })).toEqual([['input_token', 1000, '0.000003']]);
      expect(input({ audio_tokens: 600, cached_audio_tokens: strange })).toEqual(
        input({ audio_tokens: 600 }),
      );
    },
  );

  test('costs as much as text where the model has no price for it', () => {
    expect(lines(counted, { cached_input_token: '0.0000003' })).toEqual([
      ['input_token', 700, '0.000003'],
      ['cached_input_token', 300, '0.0000003'],
    ]);
  });
});

test('no token is charged twice or below zero, whatever a maker reports', () => {
  const count = fc.nat(2_000);
  const counts = fc.tuple(count, count, count, count, count, count);
  const all = model({
    cached_input_token: '0.1',
    cache_write_input_token: '0.2',
    cache_write_1h_input_token: '0.3',
    audio_input_token: '0.4',
    cached_audio_input_token: '0.5',
  });
  fc.assert(
    fc.property(counts, ([prompt, cached, written, written1h, audio, heard]) => {
      const usage = readUsage({
        prompt_tokens: prompt,
        prompt_tokens_details: {
          cached_tokens: cached,
          cache_write_tokens: written,
          cache_write_1h_tokens: written1h,
          audio_tokens: audio,
          cached_audio_tokens: heard,
        },
      });
      const input = priceTokens(all, usage as NonNullable<typeof usage>).lines.slice(0, -1);
      expect(input.every(({ quantity }) => Number(quantity) >= 0)).toBe(true);
      expect(input.reduce((sum, { quantity }) => sum + Number(quantity), 0)).toBe(prompt);
    }),
  );
});
