import { FakeClock } from '@switchyard/testing';
import { describe, expect, test } from 'vitest';
import { makeLogger } from './logger.ts';
import { repeat } from './repeat.ts';

const EVERY_MS = 1_000;
const logger = makeLogger('test', 'silent');

/** Advances the clock and runs everything that becomes due. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise(setImmediate);
}

/** Rounds that end when the test says so. */
function workOf() {
  const rounds: PromiseWithResolvers<void>[] = [];
  const work = () => {
    const round = Promise.withResolvers<void>();
    rounds.push(round);
    return round.promise;
  };
  return { rounds, work };
}

describe('repeated work', () => {
  test('starts the next round only after the last one ended, also after a failure', async () => {
    const clock = new FakeClock();
    const { rounds, work } = workOf();
    const repeating = repeat({ everyMs: EVERY_MS, clock, logger, failed: 'it failed' }, work);
    await pass(clock, EVERY_MS - 1);
    expect(rounds.length).toBe(0);
    await pass(clock, 1);
    expect(rounds.length).toBe(1);
    await pass(clock, 10 * EVERY_MS);
    expect(rounds.length).toBe(1);
    rounds[0]?.reject(new Error('as it happens'));
    await pass(clock, 0);
    await pass(clock, EVERY_MS);
    expect(rounds.length).toBe(2);
    rounds[1]?.resolve();
    await repeating.stop();
  });

  test('stops after the current round; no round starts after it', async () => {
    const clock = new FakeClock();
    const { rounds, work } = workOf();
    const repeating = repeat({ everyMs: EVERY_MS, clock, logger, failed: 'it failed' }, work);
    await pass(clock, EVERY_MS);
    let stopped = false;
    const stop = repeating.stop().then(() => {
      stopped = true;
    });
    await pass(clock, EVERY_MS);
    expect(stopped).toBe(false);
    rounds[0]?.resolve();
    await stop;
    await pass(clock, EVERY_MS);
    expect(rounds.length).toBe(1);
  });
});
