// Control admits the events of computer hosts to the stream of events. Uses a real nats-server.
import { type Bucket, type Bus, openBucket, publishEvent, request } from '@switchyard/bus';
import {
  type ComputerMinutes,
  type ComputerRecord,
  type Event,
  type EventData,
  eventIds,
  eventSubjectOfHost,
  HOST_EVENTS_STREAM,
  makeEvent,
  minuteEvent,
  newComputerRecord,
  newId,
  STANDARD_IMAGE,
} from '@switchyard/contracts';
import { type EventLog, FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';
import { countMinute } from './minute-count.ts';
import { PlacedRecords } from './placed-records.ts';
import { placementSweep } from './sweeper.ts';

const HOST = 'host_a';
const THIEF = 'host_thief';
const ORG = 'org_tenant';
const HOUR_MS = 3_600_000;
/** The last minute of a computer that has run for an hour. */
const LAST = 60;
/** Dollars: 0.001 + 2 × 0.002 a minute. */
const RATES = {
  per_minute: '0.001',
  per_vcpu_minute: '0.002',
  per_gb_memory_minute: '0',
  per_gb_disk_minute: '0',
};
const MINUTE_NANO = '5000000';
const clock = new FakeClock();

let bus: Bus;
let control: TestControl;
let records: PlacedRecords;
let minutes: Bucket<ComputerMinutes>;
let events: EventLog;
let record: ComputerRecord;

beforeAll(async () => {
  control = await startTestControl({ clock });
  ({ bus, events } = control);
  minutes = await openBucket(bus, 'computer-minutes');
  records = new PlacedRecords({
    placements: await openBucket(bus, 'computer-placements'),
    computers: await openBucket(bus, 'computers'),
  });
});
afterAll(() => control?.stop());
beforeEach(async () => {
  record = newComputerRecord({
    ...{ id: newId('computer'), org: ORG, key_id: 'key_tenant', host: HOST, name: 'test' },
    ...{ image: STANDARD_IMAGE, cpu: 2, memory_mb: 1_024, disk_gb: 1, rates: RATES },
    metadata: { team: 'search' },
    created_at: new Date(clock.now() - HOUR_MS).toISOString(),
  });
  await records.place(record);
});

function minute(number: number, change: Partial<EventData<'computer.metered'>> = {}): Event {
  const event = minuteEvent({
    ...{ record, run: { number: 1 }, minute: number, costNano: BigInt(MINUTE_NANO) },
    ...{ source: '/switchyard/computer-agent', time: new Date(clock.now()) },
  });
  return { ...event, data: { ...event.data, ...change } };
}

const publish = (event: Event, host = HOST) => publishEvent(bus, event, { host, timeoutMs: 30_000 });
const of = (id: string) =>
  events.all.filter(({ data }) => 'computer_id' in data && data.computer_id === id).map((event) => event.id);

/** Control reads in order: when it has admitted a later event, it has decided about the earlier ones. */
async function decided(): Promise<void> {
  const last = minute(LAST);
  await publish(last);
  await events.until('the last one', ({ id }) => id === last.id);
}

describe('an event of a host', () => {
  test('about a computer that control placed there is admitted as it is, once', async () => {
    const sent = minute(0);
    const text = JSON.stringify(sent);
    const headers = { expect: { streamName: HOST_EVENTS_STREAM } };
    // Twice on the stream, as after a loss of the acknowledgement that outlasts the server's memory of ids.
    for (let time = 0; time < 2; time++) await bus.js.publish(eventSubjectOfHost(HOST), text, headers);
    await decided();
    expect(of(record.id)).toEqual([sent.id, minute(LAST).id]);
    expect(events.all.find(({ id }) => id === sent.id)).toEqual(sent);
  });

  test('is kept in order with those of the same computer, and leaves the queue', async () => {
    const sent = Array.from({ length: 20 }, (_, number) => minute(number));
    await Promise.all(sent.map((event) => publish(event)));
    await decided();
    expect(of(record.id)).toEqual([...sent, minute(LAST)].map(({ id }) => id));
    const left = async () => (await bus.jsm.streams.info(HOST_EVENTS_STREAM)).state.messages;
    await expect.poll(left).toBe(0);
  });

  test('has the price, the payer and the tags of the placement, whatever the host says', async () => {
    const forged = minute(0, {
      ...{ cost_nano: '999000000000', cpu: 64, memory_mb: 999_999, key_id: 'key_other', tags: {} },
      lines: [{ unit: 'minute', quantity: 1, rate: '999' }],
    });
    await publish(forged);
    await decided();
    expect(events.all.find(({ id }) => id === forged.id)).toEqual(minute(0));
    expect(minute(0).data).toMatchObject({ cost_nano: MINUTE_NANO, key_id: 'key_tenant' });
  });

  test('about a change has the payer and the tags of the placement, nothing else', async () => {
    const id = `${record.id}:1:started`;
    const facts = { computer_id: record.id, org: ORG, host: HOST };
    const state = { status: 'running' as const, run: 1, stop_reason: null };
    const started = makeEvent({
      ...{ name: 'computer.started', id, source: 'host', time: new Date(clock.now()), markup: '50' },
      data: { ...facts, ...state, key_id: 'key_other', tags: { team: 'forged' } },
    });
    await publish(started);
    await decided();
    const { markuppercent: _, ...plain } = started;
    expect(events.all.find((event) => event.id === id)).toEqual({
      ...{ ...plain, source: '/switchyard/computer-agent' },
      data: { ...facts, ...state, key_id: 'key_tenant', tags: { team: 'search' } },
    });
  });

  test('happens neither before its computer was created nor in the future', async () => {
    const [early, late] = [minute(0), minute(1)];
    await publish({ ...early, time: new Date(clock.now() - 40 * 24 * HOUR_MS).toISOString() });
    await publish({ ...late, time: new Date(clock.now() + HOUR_MS).toISOString() });
    await decided();
    const timeOf = (wanted: string) => events.all.find(({ id }) => id === wanted)?.time;
    expect(timeOf(early.id)).toBe(record.created_at);
    expect(timeOf(late.id)).toBe(new Date(clock.now()).toISOString());
  });

  test('of a minute that cannot have passed is refused', async () => {
    const later = minute(LAST + 3); // clocks may differ by two
    const ofRun = (run: number) =>
      ({
        ...minute(0, { run }),
        id: eventIds.minute(record.id, run, 0),
      }) as Event;
    for (const event of [minute(1_000_000), later, ofRun(1_000_000)]) await publish(event);
    await decided();
    await publish(ofRun(2)); // each run has begun a minute
    await events.until('the run', ({ id }) => id === ofRun(2).id);
    expect(of(record.id)).toEqual([minute(LAST).id, ofRun(2).id]);
  });

  test('that control did not place there, or about something else, is refused', async () => {
    const unknown = { ...minute(0), id: eventIds.minute('cmp_unknown', 1, 0) };
    const change = (id: string) =>
      makeEvent({
        ...{ name: 'computer.stopped', id, source: 'host', time: new Date(clock.now()) },
        data: {
          ...{
            computer_id: record.id,
            org: ORG,
            key_id: 'key_tenant',
            host: HOST,
            status: 'stopped' as const,
          },
          ...{ run: 1, stop_reason: 'idle' as const },
        },
      });
    await publish(minute(0), THIEF); // under its own name
    await publish({ ...unknown, data: { ...unknown.data, computer_id: 'cmp_unknown' } } as Event);
    await publish(minute(0, { org: 'org_other' }));
    await publish({ ...minute(0), id: 'req_of_a_call' }); // would hide the call of this id from the ledger
    await publish({ ...minute(0), id: eventIds.minute(record.id, 1, 7) });
    await publish(change('req_of_a_call'));
    await publish(
      makeEvent({
        ...{ name: 'credit.granted', id: `${record.id}:gift`, source: 'host', time: new Date(clock.now()) },
        data: {
          ...{
            credit_id: 'c',
            org: ORG,
            key_id: 'k',
            amount_nano: '1000000000',
            reason: 'x',
            reference: null,
          },
        },
      }),
    );
    await bus.js.publish(eventSubjectOfHost(HOST), JSON.stringify(minute(3))); // no header of an event
    await decided();
    expect(of(record.id)).toEqual([minute(LAST).id]);
    expect(events.of('credit.granted')).toEqual([]);
    expect(events.all.filter(({ data }) => data.org === 'org_other')).toEqual([]);
  });
});

test.each([
  ['an organization', 'org a', 'cmp_x', 'cmp_x:1:started'],
  ['a computer', ORG, 'cmp x', 'cmp x:1:started'],
])('%s with an impossible name delays no event of another host', async (_, org, computer_id, id) => {
  const state = { status: 'running' as const, run: 1, stop_reason: null, tags: {} };
  const forged = makeEvent({
    ...{ name: 'computer.started', id, source: 'host', time: new Date(clock.now()) },
    data: { computer_id, org, host: THIEF, key_id: 'key_x', ...state },
  });
  await publish(forged, THIEF);
  await decided();
  const left = async () => (await bus.jsm.streams.info(HOST_EVENTS_STREAM)).state.messages;
  await expect.poll(left).toBe(0);
});

test.each([
  ['2:started', 'another run'],
  ['1\n:started', 'a line break'],
  ['1:2:started', 'a part more'],
  ['x:deleted', 'no run'],
])('an event of a placed computer whose id ends in %j, with %s, is refused', async (ending) => {
  const time = new Date(clock.now());
  const facts = { computer_id: record.id, org: ORG, host: HOST, key_id: 'key_tenant', tags: {} };
  const id = `${record.id}:${ending}`;
  const sent = ending.endsWith('deleted')
    ? makeEvent({ name: 'computer.deleted', id, source: 'host', time, data: facts })
    : makeEvent({
        ...{ name: 'computer.started', id, source: 'host', time },
        data: { ...facts, status: 'running', run: 1, stop_reason: null },
      });
  await bus.js.publish(eventSubjectOfHost(HOST), JSON.stringify(sent), {
    expect: { streamName: HOST_EVENTS_STREAM },
  });
  await decided();
  expect(of(record.id)).toEqual([minute(LAST).id]);
});

test('a minute counts by the server’s clock where control’s was set back since the placement', async () => {
  const placedAt = new Date(clock.now());
  const count = (received: Date) =>
    countMinute(
      { minutes, clock, records: { placements: { lastWrite: async () => ({ at: placedAt, events: [] }) } } },
      { ...record, created_at: new Date(clock.now() + HOUR_MS).toISOString() },
      { run: 1, minute: LAST },
      received,
    );
  expect(await count(placedAt)).toBe(false);
  expect(await count(new Date(placedAt.getTime() + HOUR_MS))).toBe(true);
});

describe('a record that a host makes for a computer that is not placed there', () => {
  test('is in no list and is not found', async () => {
    await records.computers.create(`${THIEF}.${ORG}.cmp_forged`, { ...record, id: 'cmp_forged' });
    await records.computers.create(`${THIEF}.${ORG}.${record.id}`, { ...record, name: 'forged' });
    expect(
      (await records.ofOrg(ORG)).filter(({ name, id }) => name === 'forged' || id === 'cmp_forged'),
    ).toEqual([]);
    expect(await records.find(ORG, 'cmp_forged')).toBeNull();
    expect(await records.find(ORG, record.id)).toEqual(record);
  });
});

describe('an unreadable record', () => {
  const write = (host: string, id: string, text: string) =>
    bus.js.publish(`$KV.computers.${host}.${ORG}.${id}`, text, { expect: { streamName: 'KV_computers' } });

  test('hides no other one, and blocks no removal of a placement', async () => {
    const goneId = newId('computer');
    const gone = { ...record, id: goneId };
    await records.place(gone);
    await records.computers.delete(`${HOST}.${ORG}.${goneId}`);
    await records.computers.put(`${HOST}.${ORG}.${record.id}`, { ...record, state: 'stopped' });
    await write(THIEF, 'cmp_x', '{}');
    await write(THIEF, record.id, 'not JSON');
    const ids = (found: readonly ComputerRecord[]) => found.map(({ id }) => id);
    expect(ids(await records.ofOrg(ORG))).toContain(record.id);
    expect(ids(await records.all())).toContain(record.id);
    expect(await records.withoutRecord()).toContain(`${ORG}.${goneId}`);
    const listed = await request(bus, 'computers.list', { org: ORG, key_id: 'key_tenant', query: {} });
    expect(listed.data.map(({ id }) => id)).toContain(record.id);
  });

  test.each([
    ['is no object', '1'],
    ['has a cost that is no number', { cost_nano: 'x' }],
    ['has an endless cost', { cost_nano: '9'.repeat(1_000) }],
  ])('of a placed computer that %s is as good as none', async (_, broken) => {
    const text = typeof broken === 'string' ? broken : JSON.stringify({ ...record, ...broken });
    await write(HOST, record.id, text);
    expect(await records.find(ORG, record.id)).toBeNull();
    expect((await records.ofOrg(ORG)).filter(({ id }) => id === record.id)).toEqual([]);
  });
});

describe('a placement', () => {
  test('outlives its record by an hour: events may arrive late', async () => {
    const sweep = placementSweep({ records, minutes, clock });
    await records.computers.delete(`${HOST}.${ORG}.${record.id}`);
    await sweep();
    clock.advance(HOUR_MS - 1);
    await sweep();
    const late = minute(0);
    await publish(late);
    await events.until('the late one', ({ id }) => id === late.id);
    clock.advance(1);
    await sweep();
    expect(await records.placement(ORG, record.id)).toBeNull();
  });
});
