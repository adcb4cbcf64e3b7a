import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { IDEMPOTENCY_HOURS, IDEMPOTENCY_RECORD_BYTES, newId } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OrgQuota, STORE_LOOK_EVERY_MS } from './org-quota.ts';

const KIB = 1024;
const HOUR_MS = 3_600_000;

let nats: Awaited<ReturnType<typeof startNats>>;
let bus: Bus;
const clock = new FakeClock();

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'edge', logger: makeLogger('edge', 'silent') });
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

/** Opens the quota as a separate edge does. */
async function openQuota(bytesLeft = async () => Number.POSITIVE_INFINITY): Promise<OrgQuota> {
  const bucket = await openBucket(bus, 'idempotency-usage');
  return new OrgQuota({
    bucket,
    bytesLeft,
    clock,
    logger: makeLogger('edge', 'silent'),
    bytesMax: 100 * KIB,
  });
}

test('answers of an org count over all edges, and not for another org', async () => {
  const [first, second] = await Promise.all([openQuota(), openQuota()]);
  const org = newId('org');
  expect(first.take(org).hold(60 * KIB)).toBe(true);
  expect(second.take(org).hold(38 * KIB)).toBe(true);
  await second.idle();
  first.take(org); // an edge learns of other edges' counts when it writes its own
  await first.idle();
  for (const quota of [first, second, await openQuota()]) {
    expect(await quota.hasRoom(org)).toBe(false);
    expect(await quota.hasRoom(newId('org'))).toBe(true);
  }
});

test('an answer over the quota is refused its bytes, and leaves those of others unchanged', async () => {
  const quota = await openQuota();
  const org = newId('org');
  const share = quota.take(org);
  expect(share.hold(60 * KIB)).toBe(true);
  expect(share.hold(100 * KIB)).toBe(false);
  expect(quota.take(org).hold(30 * KIB)).toBe(true);
});

test('an org has at most half of what the store has left; while the store does not answer, the last count holds', async () => {
  const looks = [60 * KIB, null, 200 * KIB];
  const quota = await openQuota(async () => {
    const left = looks.shift();
    if (!left) throw new Error('unavailable');
    return left;
  });
  const org = newId('org');
  expect(await quota.hasRoom(org)).toBe(true);
  const share = quota.take(org);
  expect([share.hold(30 * KIB), share.hold(28 * KIB)]).toEqual([false, true]);
  clock.advance(STORE_LOOK_EVERY_MS);
  expect([await quota.hasRoom(org), share.hold(30 * KIB)]).toEqual([true, false]);
  clock.advance(STORE_LOOK_EVERY_MS);
  expect([await quota.hasRoom(org), share.hold(30 * KIB)]).toEqual([true, true]);
});

test('released bytes are free on every edge', async () => {
  const [first, second] = await Promise.all([openQuota(), openQuota()]);
  const org = newId('org');
  const share = first.take(org);
  share.hold(100 * KIB - IDEMPOTENCY_RECORD_BYTES);
  await first.idle();
  expect(await second.hasRoom(org)).toBe(false);
  share.release();
  await first.idle();
  expect(await second.hasRoom(org)).toBe(true);
});

test('many concurrent requests on two edges lose no count', async () => {
  const [first, second] = await Promise.all([openQuota(), openQuota()]);
  const org = newId('org');
  for (let n = 0; n < 49; n += 1) for (const quota of [first, second]) quota.take(org);
  await Promise.all([first.idle(), second.idle()]);
  const third = await openQuota();
  expect(await third.hasRoom(org)).toBe(true);
  expect(third.take(org).hold(KIB)).toBe(true);
  expect(await third.hasRoom(org)).toBe(false);
});

test('an answer counts for as long as it is kept', async () => {
  const quota = await openQuota();
  const org = newId('org');
  quota.take(org).hold(99 * KIB);
  await clock.advance(IDEMPOTENCY_HOURS * HOUR_MS - 1);
  expect(await quota.hasRoom(org)).toBe(false);
  await clock.advance(HOUR_MS + 1);
  expect(await quota.hasRoom(org)).toBe(true);
});
