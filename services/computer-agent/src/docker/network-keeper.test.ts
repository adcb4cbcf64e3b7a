import { expect, onTestFinished, test, vi } from 'vitest';
import type { ComputerNetwork } from './network.ts';
import { keepNetwork } from './network-keeper.ts';

const RETRY_MS = 5;

/** Opens at the time that is said, by number, and not before. */
function networkAt(opensAt: number) {
  const warnings: string[] = [];
  const logger = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message) };
  const network = { name: 'sy0', close: vi.fn(async () => {}) } as unknown as ComputerNetwork;
  const open = vi.fn(async () => {
    if (open.mock.calls.length < opensAt) throw new Error('the engine says no');
    return network;
  });
  return { network, open, warnings, keeper: keepNetwork(open, logger, RETRY_MS) };
}

test('it is opened once for all callers', async () => {
  const { keeper, open, network } = networkAt(1);
  keeper.guard();
  expect(await Promise.all([keeper.opened(), keeper.opened()])).toEqual([network, network]);
  expect(open).toHaveBeenCalledTimes(1);
  await keeper.close();
  expect(network.close).toHaveBeenCalledTimes(1);
});

test('a failure is logged and retried until it succeeds, without further calls', async () => {
  const { keeper, open, warnings } = networkAt(3);
  keeper.guard();
  await expect.poll(() => open.mock.calls.length).toBe(3);
  await keeper.opened();
  expect(open).toHaveBeenCalledTimes(3);
  expect(warnings).toHaveLength(2);
  await keeper.close();
});

test('who asks hears why there is none; closed, it is not tried again', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { keeper, open, network, warnings } = networkAt(Number.POSITIVE_INFINITY);
  await expect(keeper.opened()).rejects.toThrow('the engine says no');
  keeper.guard();
  const closing = keeper.close();
  await expect(closing).rejects.toThrow('the engine says no'); // it was on its way
  expect(warnings).toHaveLength(1);
  expect(open).toHaveBeenCalledTimes(2);
  expect(network.close).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
