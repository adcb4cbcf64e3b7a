import type { JetStreamManager } from '@nats-io/jetstream';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { STORE_TRIAL_EVERY_MS } from './limits.ts';
import { StoreGate } from './store-gate.ts';

test('once JetStream answers again, one call per interval may try until one stores', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const jsm = { streams: { info: async () => ({}) } } as unknown as JetStreamManager;
  const gate = new StoreGate(jsm, pino({ level: 'silent' }));
  gate.shut();
  expect(gate.admit()).toBe(false);
  await vi.advanceTimersToNextTimerAsync();
  expect([gate.admit(), gate.admit()]).toEqual([true, false]);
  gate.shut(); // the trial stored nothing
  await vi.advanceTimersByTimeAsync(STORE_TRIAL_EVERY_MS - 1);
  expect(gate.admit()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect([gate.admit(), gate.admit()]).toEqual([true, false]);
  gate.stored();
  expect([gate.admit(), gate.admit()]).toEqual([true, true]);
});
