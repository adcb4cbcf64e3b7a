// Answers about money, when the stream or the ledger fails around an event.
import { systemClock } from '@switchyard/service';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { completed, ORG } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { ONLY_PARTITION } from '../partitions/partition.ts';
import { Progress } from '../progress.ts';
import type { BillingDeps } from '../register.ts';
import { creditsCreate } from './credits.ts';
import { refundsCreate } from './refunds-create.ts';
import { usageGet } from './usage-get.ts';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
  const billing = await installation.startBilling(); // makes the stream and its consumers
  await installation.client.publish(completed('req_paid', 10n));
  await installation.client.usage({});
  await billing.stop();
}, 60_000);
afterEach(() => vi.restoreAllMocks());

afterAll(() => installation?.stop());

const deps = () =>
  ({
    ...{ bus: installation.client.bus, partition: ONLY_PARTITION, progress: new Progress() },
    ...{ store: installation.database.store, clock: systemClock },
  }) as BillingDeps;
const grant = () =>
  creditsCreate({ org: ORG, key_id: 'key_1', body: { amount: 5, reason: 'payment' } }, deps());

test('a credit that is stored is granted, although the ledger cannot be asked for it', async () => {
  const { jsm } = installation.client.bus;
  const asked = vi.spyOn(jsm.consumers, 'info').mockRejectedValue(new Error('unavailable'));
  expect(await grant()).toMatchObject({ object: 'credit', amount: 5 });
  expect(asked).toHaveBeenCalled();
});

test('a credit that the stream does not confirm may be granted: the error says where to look before a repeat', async () => {
  vi.spyOn(installation.client.bus.js, 'publish').mockRejectedValue(new Error('late'));
  await expect(grant()).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('GET /v1/credits'),
    retryAfterS: undefined,
  });
});

test.each([
  [
    'the stream does not confirm',
    () => vi.spyOn(installation.client.bus.js, 'publish').mockRejectedValue(new Error('late')),
  ],
  [
    'is stored while the ledger cannot be asked for it',
    () => {
      const { js, jsm } = installation.client.bus;
      const publish = js.publish.bind(js);
      vi.spyOn(js, 'publish').mockImplementation(async (...message) => {
        const ack = await publish(...message);
        vi.spyOn(jsm.consumers, 'info').mockRejectedValue(new Error('unavailable'));
        return ack;
      });
    },
  ],
])('a refund that %s may exist: the error says where to look before a repeat', async (_, fail) => {
  fail();
  const body = { request_id: 'req_paid', amount: 0.000000004, reason: 'test' };
  await expect(
    refundsCreate({ org: ORG, key_id: 'key_1', refund_id: 'rfd_1', body }, deps()),
  ).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('/v1/logs'),
    retryAfterS: undefined,
  });
});

test('usage is not answered from sums that miss rows of the ledger', async () => {
  const asked = usageGet({ org: ORG, key_id: 'key_1', query: {} }, deps(), new AbortController().signal);
  await expect(asked).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 1 });
});
