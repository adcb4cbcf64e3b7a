// Containers that no computer owns, on a host whose engine cannot remove one of them.
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { expect, test } from 'vitest';
import type { ComputerHost } from '../computer/computer-host.ts';
import type { ComputerRecords } from '../store/computer-records.ts';
import type { Computers } from './computers.ts';
import { ORPHAN_GRACE_MS, Reconciler } from './reconciler.ts';

test('one that cannot be removed is retried in each round, and the others are removed', async () => {
  const clock = new FakeClock(0);
  const left = new Set(['stuck', 'other', 'third']);
  const host: Pick<ComputerHost, 'containers' | 'remove'> = {
    containers: async () => [...left].map((containerId) => ({ containerId, running: true, pooled: false })),
    remove: async (containerId) => {
      if (containerId === 'stuck') throw new Error('of the test');
      left.delete(containerId);
    },
  };
  const reconciler = new Reconciler({
    host: host as ComputerHost,
    records: { all: async () => new Map() } as Partial<ComputerRecords> as ComputerRecords,
    computers: { all: () => [] } as Partial<Computers> as Computers,
    clock,
    logger: makeLogger('test', 'silent'),
  });
  await reconciler.reconcile();
  clock.advance(ORPHAN_GRACE_MS);
  await reconciler.reconcile();
  expect([...left]).toEqual(['stuck']);
  left.add('late');
  await reconciler.removeAllOrphans();
  expect([...left]).toEqual(['stuck']);
});
