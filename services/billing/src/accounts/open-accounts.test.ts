// The opening of accounts, on a bus that has nothing to book.
import { setImmediate } from 'node:timers/promises';
import type { Bus } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { ONLY_PARTITION } from '../partitions/partition.ts';
import { Progress } from '../progress.ts';
import type { Store } from '../store/store.ts';
import { openAccounts } from './open-accounts.ts';
import type { AccountRecords } from './records.ts';

test('a pause of billing ends its learning of holds no earlier: renewals of that time are not read yet', async () => {
  const streams = { info: async () => ({ state: { last_seq: 0 } }) };
  const consumers = { info: async () => ({ ack_floor: { stream_seq: 0 } }) };
  const clock = new FakeClock();
  const progress = new Progress();
  progress.recovered();
  const { admit, close } = openAccounts({
    bus: { jsm: { streams, consumers } } as unknown as Bus,
    ...{ store: {} as Store, records: {} as AccountRecords }, // not read
    ...{ partition: ONLY_PARTITION, progress, clock, logger: makeLogger('accounts-test', 'silent') },
  });
  let isOpen = false;
  const admitted = admit(new AbortController().signal).then(() => {
    isOpen = true;
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await setImmediate(); // everything that waited for the clock has run
  };
  await pass(60_000);
  for (let step = 0; step < 4; step++) {
    expect(isOpen).toBe(false);
    await pass(500);
  }
  await admitted;
  close();
});
