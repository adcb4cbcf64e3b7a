// A split of billing after the stream of events was recreated: sequences of the former stream do not apply to the new
// one.
import { ensureEventsStream } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completed } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { readLayout } from './layout.ts';
import { partitionsCommand } from './partitions-command.ts';

const ORGS = ['org_a', 'org_b'] as const;

const logger = makeLogger('partitions-test', 'silent');
let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(() => installation?.stop());

const split = (to: number) =>
  partitionsCommand(String(to), {
    bus: installation.client.bus,
    store: installation.database.store,
    clock: systemClock,
    logger,
  });

const ids = (name: string) => Array.from({ length: 6 }, (_, i) => `req_${name}_${i}`);

const publish = (name: string) =>
  installation.client.publish(
    ...ids(name).map((id, i) => completed(id, 1_000n, { org: ORGS[i % 2] ?? ORGS[0] })),
  );

test('unread events of a recreated stream are booked, regardless of the old sequence', async () => {
  const first = await installation.startBilling();
  await publish('before');
  await installation.client.caughtUp(...ORGS);
  await first.stop();
  await split(2);
  expect((await readLayout(installation.database.store)).from?.seq).toBe(ids('before').length);

  await installation.client.bus.jsm.streams.delete(EVENTS_STREAM);
  await ensureEventsStream(installation.client.bus);
  await publish('after');
  await split(1);
  expect((await readLayout(installation.database.store)).from).toBeNull();

  const second = await installation.startBilling();
  await installation.client.caughtUp(...ORGS);
  await second.stop();
  const rows = await installation.database.store.ledger.find({ kind: 'call' }).toArray();
  expect(rows.map(({ _id }) => _id).sort()).toEqual([...ids('after'), ...ids('before')]);
});
