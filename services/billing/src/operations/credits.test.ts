// The answer to a grant of credits, when the stream or the ledger fails around its event.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ORG } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { ONLY_PARTITION } from '../partitions/partition.ts';
import { Progress } from '../progress.ts';
import type { BillingDeps } from '../register.ts';
import { creditsCreate } from './credits.ts';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
  const billing = await installation.startBilling(); // makes the stream and its consumers
  await billing.stop();
}, 60_000);

afterAll(() => installation?.stop());

const grant = () =>
  creditsCreate({ org: ORG, key_id: 'key_1', body: { amount: 5, reason: 'payment' } }, {
    ...{ bus: installation.client.bus, partition: ONLY_PARTITION, progress: new Progress() },
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
  } as BillingDeps);

test('a credit that is stored is granted, although the ledger cannot be asked for it', async () => {
  const { jsm } = installation.client.bus;
  const asked = vi.spyOn(jsm.consumers, 'info').mockRejectedValue(new Error('away'));
  expect(await grant()).toMatchObject({ object: 'credit', amount: 5 });
  expect(asked).toHaveBeenCalled();
  asked.mockRestore();
});

test('a credit that the stream does not confirm may be granted: the error says where to look before a repeat', async () => {
  const published = vi.spyOn(installation.client.bus.js, 'publish').mockRejectedValue(new Error('late'));
  await expect(grant()).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('GET /v1/credits'),
    retryAfterS: undefined,
  });
  published.mockRestore();
});
