import { type Bucket, type Bus, connectBus, openBucket, request } from '@switchyard/bus';
import { DEFAULT_ORG, type KeyRecord, keyRecordKey } from '@switchyard/contracts';
import { makeLogger, readConfig, systemClock } from '@switchyard/service';
import { startNats, type TestServer, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { config as controlConfig } from '../config.ts';
import { start } from '../run.ts';
import { firstKeyId } from './first-key.ts';

const logger = makeLogger('control', 'silent');
const FIRST = 'sy_the_first_key_of_all';
const SECOND = 'sy_the_key_that_came_after';
const by = (secret: string) => ({ org: DEFAULT_ORG, key_id: firstKeyId(secret) });

let nats: TestServer;
let bus: Bus;
let keys: Bucket<KeyRecord>;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
  keys = await openBucket(bus, 'keys');
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

/** Runs `work` while an instance of control with this SWITCHYARD_KEY is running. */
async function withControl(secret: string, work: () => Promise<void>): Promise<void> {
  const own = await connectBus({ url: nats.url, service: 'control', logger });
  const config = readConfig(controlConfig, {
    SWITCHYARD_DATA: await temporaryFolder('control'),
    SWITCHYARD_KEY: secret,
    SWITCHYARD_COMPUTERS: 'off',
  });
  const control = await start({ config, bus: own, logger, clock: systemClock });
  try {
    await work();
  } finally {
    await control.stop();
    await own.close();
  }
}

const listed = async () =>
  (await request(bus, 'keys.list', { ...by(FIRST), query: {} })).data.map(({ id }) => id);
const idOf = async (secret: string) =>
  (await keys.get(keyRecordKey(DEFAULT_ORG, firstKeyId(secret))))?.value.id;

test('SWITCHYARD_KEY cannot be revoked, only changed: the old key is then removed, other keys stay', async () => {
  let made = '';
  await withControl(FIRST, async () => {
    made = (
      await request(bus, 'keys.create', { ...by(FIRST), body: { name: 'a', permissions: ['usage:read'] } })
    ).id;
    const id = (await idOf(FIRST)) ?? '';
    await expect(request(bus, 'keys.delete', { ...by(FIRST), id })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('SWITCHYARD_KEY'),
    });
    expect(await idOf(FIRST)).toBe(id);
  });
  await withControl(FIRST, async () => {
    expect((await listed()).sort()).toEqual([await idOf(FIRST), made].sort());
  });
  await withControl(SECOND, async () => {
    expect(await idOf(FIRST)).toBeUndefined();
    expect((await listed()).sort()).toEqual([await idOf(SECOND), made].sort());
    await request(bus, 'keys.delete', { ...by(SECOND), id: made });
    await expect.poll(listed).toEqual([await idOf(SECOND)]);
  });
});

test('an unreadable record of a key does not stop control from starting', async () => {
  const unreadable = keyRecordKey(DEFAULT_ORG, 'key_unreadable');
  await keys.put(unreadable, { expires_at: '+010000-01-01T04:59:59.000Z' } as KeyRecord);
  await withControl(SECOND, async () => {
    expect(await idOf(SECOND)).toBe(firstKeyId(SECOND));
  });
  await keys.delete(unreadable);
});
