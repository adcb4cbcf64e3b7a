// Each change of an account publishes an event. Uses a real nats-server.
import { type Bus, connectBus, request } from '@switchyard/bus';
import { DEFAULT_ORG, eventIds, eventSubject, type UpdateOrgRequest } from '@switchyard/contracts';
import { makeLogger, type Running, readConfig, systemClock } from '@switchyard/service';
import {
  type EventLog,
  openEventLog,
  startNats,
  type TestServer,
  temporaryFolder,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { config as controlConfig } from '../config.ts';
import { start } from '../run.ts';

const logger = makeLogger('control', 'silent');

let nats: TestServer;
let bus: Bus;
let controlBus: Bus;
let control: Running;
let events: EventLog;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
  controlBus = await connectBus({ url: nats.url, service: 'control', logger });
  const settings = { SWITCHYARD_DATA: await temporaryFolder('control'), SWITCHYARD_COMPUTERS: 'off' };
  const config = readConfig(controlConfig, settings);
  control = await start({ config, bus: controlBus, logger, clock: systemClock });
  events = await openEventLog(bus);
});
afterAll(async () => {
  await events?.stop();
  await control?.stop();
  await controlBus?.close();
  await bus?.close();
  await nats?.stop();
});

const update = (body: UpdateOrgRequest) =>
  request(bus, 'orgs.update', { org: DEFAULT_ORG, key_id: 'key_1', id: DEFAULT_ORG, body });

test('each change of an account publishes an event with the new values and the key that changed them', async () => {
  await update({ monthly_limit: 0.25 });
  await expect(update({ billing: 'prepaid', monthly_limit: 1 })).rejects.toMatchObject({
    code: 'invalid_request',
  });
  await update({ billing: 'prepaid', monthly_limit: null });
  await events.until('prepaid', ({ data }) => 'billing' in data && data.billing === 'prepaid');
  const changes = events.of('account.updated');
  const changed = { org: DEFAULT_ORG, by_key_id: 'key_1' };
  expect(changes.map(({ data }) => data)).toEqual([
    { ...changed, billing: 'postpaid', monthly_limit_nano: '250000000' },
    { ...changed, billing: 'prepaid', monthly_limit_nano: null },
  ]);
  expect(changes.map(eventSubject)).toEqual(changes.map(() => `event.v1.account.updated.${DEFAULT_ORG}`));
  const [first, second] = changes.map(({ id }) => id);
  expect(first).not.toBe(second);
  expect(second).toBe(eventIds.accountUpdated(DEFAULT_ORG, Number(second?.split(':').at(-1))));
});
