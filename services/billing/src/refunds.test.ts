// Manual refunds: exact when concurrent, next to voids and failed videos, and visible wherever the charge is.
import { type CreateRefundRequest, newId } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectBooksBalance } from './fixtures/books.ts';
import { completed, metered, ORG, TIME, videoCharged, videoRefunded, voided } from './fixtures/events.ts';
import { startInstallation, type TestInstallation } from './fixtures/installation.ts';
import { entryOf } from './store/entry-of.ts';
import { LedgerWriter } from './store/ledger-writer.ts';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
  await installation.startBilling();
});
afterAll(() => installation?.stop());

const ALL = { from: '2026-11-01T00:00:00Z' };
const refund = (body: Omit<CreateRefundRequest, 'reason'>, id = newId('refund'), org = ORG) =>
  installation.client.ask('refunds.create', {
    org,
    key_id: 'key_9',
    refund_id: id,
    body: { reason: 'test', ...body },
  });
const costOf = async (org: string) => (await installation.client.usage(ALL, org)).total.cost;

describe('a refund', () => {
  test('in full is a separate row in Usage, Logs and the account, under the key and model of its charge', async () => {
    const org = 'org_all';
    await installation.client.publish(completed('req_all', 800_000_000n, { org }));
    const answer = await refund({ request_id: 'req_all', reference: 'ticket 1' }, 'rfd_all', org);
    expect(answer).toMatchObject({
      ...{ id: 'rfd_all', event: 'req_all:refund:1', charge: 'req_all', amount: 0.8, left: 0 },
      ...{ reference: 'ticket 1', key_id: 'key_9' },
    });
    const { total, data } = await installation.client.usage({ ...ALL, group_by: 'model' }, org);
    expect(total).toEqual({ calls: 1, cost: 0, quantities: { input_tokens: 10, output_tokens: 5 } });
    expect(data).toMatchObject([{ group: 'acme/chat-1', cost: 0 }]);
    expect(await installation.client.log('req_all:refund:1', org)).toMatchObject({
      ...{ kind: 'refund', cost: -0.8, key_id: 'key_1', model: 'acme/chat-1' },
      correction: { of: 'req_all', reason: 'test', reference: 'ticket 1' },
    });
    const found = await installation.client.logs({ request_id: 'req_all' }, org);
    expect(found.data.map(({ id }) => id).sort()).toEqual(['req_all', 'req_all:refund:1']);
    expect(await installation.client.ask('account.get', { org, key_id: 'key_1' })).toMatchObject({
      spent: 0,
    });
  });

  test('in parts never exceeds the charge', async () => {
    const org = 'org_parts';
    await installation.client.publish(completed('req_parts', 10n, { org }));
    expect(await refund({ request_id: 'req_parts', amount: 4e-9 }, undefined, org)).toMatchObject({
      left: 6e-9,
    });
    await expect(refund({ request_id: 'req_parts', amount: 7e-9 }, undefined, org)).rejects.toMatchObject({
      ...{ code: 'refund_exceeds_charge', param: 'amount' },
      details: { charged: '0.00000001', left: '0.000000006' },
    });
    expect(await refund({ request_id: 'req_parts' }, undefined, org)).toMatchObject({
      amount: 6e-9,
      left: 0,
    });
    await expect(refund({ request_id: 'req_parts' }, undefined, org)).rejects.toMatchObject({
      code: 'refund_exceeds_charge',
    });
  });

  test('made ten times concurrently returns no more than the charge', async () => {
    const org = 'org_race';
    await installation.client.publish(completed('req_race', 10n, { org }));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => refund({ request_id: 'req_race', amount: 4e-9 }, undefined, org)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await costOf(org)).toBe(2e-9);
  });

  test('repeated under its id returns the existing refund', async () => {
    const org = 'org_again';
    await installation.client.publish(completed('req_again', 10n, { org }));
    const first = await refund({ request_id: 'req_again', amount: 4e-9 }, 'rfd_same', org);
    expect(await refund({ request_id: 'req_again', amount: 4e-9 }, 'rfd_same', org)).toEqual(first);
    expect(await costOf(org)).toBe(6e-9);
    const rest = await refund({ request_id: 'req_again' }, 'rfd_rest', org);
    expect(await refund({ request_id: 'req_again' }, 'rfd_rest', org)).toEqual(rest);
    expect(await costOf(org)).toBe(0);
  });

  test('under the id of another refund of its charge is refused', async () => {
    const org = 'org_other';
    await installation.client.publish(completed('req_other', 10n, { org }));
    await refund({ request_id: 'req_other', amount: 4e-9 }, 'rfd_first', org);
    for (const other of [{ amount: 5e-9 }, {}, { amount: 4e-9, reference: 'ticket 2' }])
      await expect(refund({ request_id: 'req_other', ...other }, 'rfd_first', org)).rejects.toMatchObject({
        ...{ code: 'idempotency_conflict', status: 409 },
      });
    expect(await costOf(org)).toBe(6e-9);
  });

  test('of a computer’s minute or of a video names its event or request', async () => {
    const org = 'org_kinds';
    await installation.client.publish(metered('cmp_k', 0, 20n, { org }), videoCharged('vid_k', 30n, { org }));
    expect(await refund({ event: 'cmp_k:1:0' }, undefined, org)).toMatchObject({ amount: 2e-8 });
    expect(await refund({ request_id: 'req_of_vid_k', amount: 1e-8 }, undefined, org)).toMatchObject({
      ...{ event: 'vid_k:charge:refund:1', left: 2e-8 },
    });
    expect(await refund({ event: 'vid_k:charge', amount: 1e-8 }, undefined, org)).toMatchObject({
      left: 1e-8,
    });
    const found = await installation.client.logs({ request_id: 'req_of_vid_k' }, org);
    expect(found.data).toHaveLength(3);
  });

  test('of an id without a charge of the org is refused', async () => {
    const org = 'org_theirs';
    await installation.client.publish(
      completed('req_theirs', 10n, { org }),
      videoCharged('vid_theirs', 10n, { org }),
    );
    const theirs = [{ request_id: 'req_theirs' }, { request_id: 'req_of_vid_theirs' }];
    for (const body of [...theirs, { event: 'vid_theirs:charge' }, { event: 'req_none' }])
      await expect(refund(body)).rejects.toMatchObject({ code: 'charge_not_found' });
  });
});

describe('other reversals', () => {
  test('a void reverses what the refund has left, and afterwards nothing can be refunded', async () => {
    const org = 'org_void';
    await installation.client.publish(completed('req_v', 10n, { org }));
    await refund({ request_id: 'req_v', amount: 4e-9 }, undefined, org);
    await installation.client.publish(voided('req_v', { org }));
    expect(await costOf(org)).toBe(0);
    await expect(refund({ request_id: 'req_v' }, undefined, org)).rejects.toMatchObject({
      code: 'refund_exceeds_charge',
    });
  });

  test('a video that fails after a refund returns the rest', async () => {
    const org = 'org_video';
    await installation.client.publish(videoCharged('vid_f', 30n, { org }));
    await refund({ event: 'vid_f:charge', amount: 1e-8 }, undefined, org);
    await installation.client.publish(
      videoRefunded('vid_f', 30n, { org }),
      videoRefunded('vid_f', 30n, { org }),
    );
    expect(await costOf(org)).toBe(0);
    expect(await installation.client.log('vid_f:refund', org)).toMatchObject({ cost: -2e-8 });
  });

  test('leaves books that balance, and nothing rejected', async () => {
    await expectBooksBalance(installation.database.db);
    expect(await installation.database.store.rejected.countDocuments()).toBe(0);
  });
});

test('the ledger accepts one refund per place, in order, and at most the remaining amount', async () => {
  const { store, db } = await installation.openDatabase();
  const writer = new LedgerWriter({ store, logger: makeLogger('test', 'silent') });
  await writer.recover();
  const event = (id: string, number: number, amount: bigint) => ({
    ...completed('unused', 0n),
    type: 'charge.refunded' as const,
    id: `req_l:refund:${number}`,
    data: {
      ...{ refund_id: id, org: ORG, key_id: 'key_9', charge: 'req_l', request_id: 'req_l', number },
      ...{ amount_nano: String(amount), reason: 'test', reference: null },
    },
  });
  const entries = [
    completed('req_l', 10n, { time: TIME }),
    event('rfd_early', 2, 1n), // the first is not there yet
    event('rfd_1', 1, 4n),
    event('rfd_other', 1, 4n), // the place is taken
    event('rfd_much', 2, 7n),
    event('rfd_2', 2, 6n),
    event('rfd_2', 2, 6n), // again
  ].flatMap((one) => entryOf(one) ?? []);
  const conflicts = await writer.append(entries);
  expect(conflicts.map(({ entry }) => entry.what === 'refund' && entry.row.refund?.id)).toEqual([
    ...['rfd_early', 'rfd_other', 'rfd_much'],
  ]);
  const rows = await store.ledger.find().sort({ n: 1 }).toArray();
  expect(rows.map(({ cost }) => cost)).toEqual([10n, -4n, -6n]);
  await expectBooksBalance(db);
});
