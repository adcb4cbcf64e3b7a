// Webhooks on a real nats-server: receivers verify with the official library, each instance of control has its own
// connection, and a short retry schedule replaces the hours.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Bus,
  connectBus,
  createEventPublisher,
  type EventPublisher,
  ensureEventsStream,
  FEED_ACK_WAIT_MS,
  openBucket,
  publishEvent,
} from '@switchyard/bus';
import {
  type CreateWebhookRequest,
  DEFAULT_ORG,
  EVENT_STREAMS,
  EVENTS_STREAM,
  type Event,
  eventIds,
  eventSubjects,
  makeEvent,
  newId,
  newVideoId,
  ServiceError,
  type VideoRecord,
  videoKey,
  WEBHOOKS_PER_ORG_MAX,
  type WebhookObject,
  type WebhookRecord,
} from '@switchyard/contracts';
import { parseAllowList } from '@switchyard/egress';
import { makeLogger, systemClock } from '@switchyard/service';
import { ownPort, startNats, type TestServer } from '@switchyard/testing';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { webhookHandlers } from '../operations/webhooks.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import { ATTEMPT_TIMEOUT_MS } from './send.ts';
import { startWebhooks, type Webhooks } from './start-webhooks.ts';
import { changeWebhook } from './webhook-records.ts';

const logger = makeLogger('control', 'silent');
/** Retries soon, and then for as long as a test may take on a busy machine. */
const QUICK: RetrySchedule = {
  agesMs: [100, 200, 400, 800, ...Array.from({ length: 120 }, (_, i) => 1_500 * (i + 1))],
  failingMsMax: 4_000,
};
/** Gives up soon, and disables at once. */
const HASTY: RetrySchedule = { agesMs: [50, 100], failingMsMax: 0 };

const HOUR_MS = 3_600_000;
const BUSY_MS = 60_000;

let nats: TestServer;
let bus: Bus;
let outboxDir: string;
const instances: { webhooks: Webhooks; events: EventPublisher; bus: Bus }[] = [];
const receivers: Receiver[] = [];

beforeAll(async () => {
  outboxDir = await mkdtemp(join(tmpdir(), 'webhooks-test-'));
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger });
  await ensureEventsStream(bus);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
  await rm(outboxDir, { recursive: true });
});

afterEach(async () => {
  const [first] = instances;
  for (const { value } of (await first?.webhooks.operations.webhooks.entries()) ?? [])
    await remove(value.id, value.org);
  for (const instance of instances.splice(0)) {
    await instance.webhooks.stop();
    await instance.events.close();
    await instance.bus.close();
  }
  for (const receiver of receivers.splice(0)) await receiver.stop();
});

async function openInstance(schedule = QUICK, allow = '127.0.0.1'): Promise<Webhooks> {
  const own = await connectBus({ url: nats.url, service: 'control', logger });
  const events = await createEventPublisher({ bus: own, outboxDir, logger });
  const webhooks = await startWebhooks({
    bus: own,
    events,
    clock: systemClock,
    logger,
    allow: parseAllowList(allow),
    schedule,
    random: () => 0,
  });
  instances.push({ webhooks, events, bus: own });
  return webhooks;
}

function operations() {
  const [first] = instances;
  if (!first) throw new Error('no instance');
  return first.webhooks.operations;
}

const handlers = () => webhookHandlers(operations());
const asked = { requestId: 'req_test', signal: new AbortController().signal };
const caller = (org = DEFAULT_ORG) => ({ org, key_id: 'key_test' });
const create = (body: CreateWebhookRequest, org?: string) =>
  handlers()['webhooks.create']({ ...caller(org), body }, asked);
const get = (id: string): Promise<WebhookObject> => handlers()['webhooks.get']({ ...caller(), id });
const remove = (id: string, org?: string) => handlers()['webhooks.delete']({ ...caller(org), id }, asked);
const deliveriesOf = async (id: string) =>
  (await handlers()['webhooks.deliveries']({ ...caller(), id, query: {} })).data;
const until = (what: () => Promise<void> | void) => vi.waitFor(what, { timeout: BUSY_MS, interval: 20 });

interface Received {
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Status that the receiver answered. */
  status: number | undefined;
}

class Receiver {
  readonly received: Received[] = [];
  readonly #server: Server;
  /** Statuses to answer, attempt by attempt; the last one repeats. 0: no answer. */
  answers: number[] = [200];
  /** Body of each answer. */
  thanks: string | Buffer = 'thanks';
  port = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      request
        .setEncoding('utf8')
        .toArray()
        .then((parts) => {
          const { headers } = request;
          const status = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
          this.received.push({ id: String(headers['webhook-id']), headers, body: parts.join(''), status });
          if (status) response.writeHead(status, { 'content-length': this.thanks.length }).end(this.thanks);
        });
    });
  }

  async start(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook?a=b`;
  }

  of(event: Event): Received[] {
    return this.received.filter(({ id }) => id === event.id);
  }
}

async function openReceiver(answers: number[] = [200], port = 0): Promise<Receiver> {
  const receiver = new Receiver();
  receiver.answers = answers;
  await receiver.start(port);
  receivers.push(receiver);
  return receiver;
}

async function emit(org = DEFAULT_ORG): Promise<Event> {
  const key_id = newId('key');
  return publish(
    makeEvent({
      name: 'key.created',
      id: eventIds.key(key_id, 'created'),
      source: '/switchyard/test',
      time: new Date(),
      data: { key_id, org, by_key_id: null },
    }),
  );
}

async function publish(event: Event): Promise<Event> {
  await publishEvent(bus, event, { timeoutMs: BUSY_MS });
  return event;
}

/** A webhook starts at the millisecond of its creation; waits until earlier events are in the past. */
async function untilPast(): Promise<void> {
  const now = Date.now();
  await until(() => expect(Date.now()).toBeGreaterThan(now));
}

async function consumers(): Promise<string[]> {
  const names: string[] = [];
  for (const { stream } of EVENT_STREAMS)
    for await (const { name } of bus.jsm.consumers.list(stream)) names.push(name);
  return names.sort();
}

test('an event arrives once, signed for the official library, with its type, time and data', async () => {
  await openInstance();
  await openInstance();
  const receiver = await openReceiver();
  const { secret } = await create({ url: receiver.url, events: ['key.*'] });
  const event = await emit();
  await until(() => expect(receiver.received).toHaveLength(1));
  const [delivery] = receiver.received;
  const verified = new Webhook(secret).verify(
    delivery?.body ?? '',
    delivery?.headers as Record<string, string>,
  );
  expect(verified).toEqual({ type: 'key.created', timestamp: event.time, data: event.data });
  expect(delivery?.headers).toMatchObject({
    'webhook-id': event.id,
    'content-type': 'application/json',
    'user-agent': 'switchyard-webhooks',
  });
  const other = `whsec_${Buffer.alloc(32).toString('base64')}`;
  expect(() =>
    new Webhook(other).verify(delivery?.body ?? '', delivery?.headers as Record<string, string>),
  ).toThrow('No matching signature');
});

test('a test event is sent at once and signed, also to a disabled webhook, and a failure changes no state', async () => {
  await openInstance();
  const receiver = await openReceiver([204, 500]);
  const { id, secret } = await create({ url: receiver.url, events: ['key.*'] });
  const sendTest = () => handlers()['webhooks.test']({ ...caller(), id }, asked);
  expect(await sendTest()).toMatchObject({ delivered: true, http_status: 204, message: null });
  const [delivery] = receiver.received;
  const headers = delivery?.headers as Record<string, string>;
  expect(new Webhook(secret).verify(delivery?.body ?? '', headers)).toMatchObject({
    type: 'webhook.test',
    data: { org: DEFAULT_ORG, webhook_id: id },
  });
  await handlers()['webhooks.update']({ ...caller(), id, body: { status: 'disabled' } }, asked);
  expect(await sendTest()).toMatchObject({ delivered: false, http_status: 500, next_attempt_at: null });
  expect(await get(id)).toMatchObject({ disabled_reason: 'user', failing_since: null, last_error: null });
  expect((await deliveriesOf(id)).map(({ http_status }) => http_status)).toEqual([500, 204]);
});

test('the last attempts are listed, newest first, with the time of a retry, until the webhook is gone', async () => {
  await openInstance();
  const receiver = await openReceiver([503, 200]);
  const { id } = await create({ url: receiver.url, events: ['key.*'] });
  const event = await emit();
  await until(async () => expect(await deliveriesOf(id)).toHaveLength(2));
  const [second, first] = await deliveriesOf(id);
  expect(second).toMatchObject({
    event_id: event.id,
    delivered: true,
    http_status: 200,
    next_attempt_at: null,
  });
  expect(first).toMatchObject({ event_type: 'key.created', delivered: false, http_status: 503 });
  expect(Date.parse(first?.next_attempt_at ?? '')).toBeGreaterThanOrEqual(Date.parse(first?.at ?? ''));
  await remove(id);
  await expect(deliveriesOf(id)).rejects.toMatchObject({ code: 'webhook_not_found' });
  expect(await operations().deliveries.history(`${DEFAULT_ORG}.${id}`)).toEqual([]);
});

test('a delivery counts by its status, whatever the length of the answer', async () => {
  await openInstance();
  const receiver = await openReceiver();
  receiver.thanks = Buffer.alloc(100 * 1024);
  const { id } = await create({ url: receiver.url, events: ['key.*'] });
  const outcome = await handlers()['webhooks.test']({ ...caller(), id }, asked);
  expect(outcome).toMatchObject({ delivered: true, http_status: 200, message: null });
});

test('two instances share the deliveries: each of many events arrives once', async () => {
  await openInstance();
  await openInstance();
  const receiver = await openReceiver();
  await create({ url: receiver.url, events: ['key.*'] });
  const events = await Promise.all(Array.from({ length: 60 }, () => emit()));
  await until(() => expect(receiver.received.length).toBeGreaterThanOrEqual(60));
  expect(receiver.received.map(({ id }) => id).sort()).toEqual(events.map(({ id }) => id).sort());
});

test('only events of the filter and of the org are sent, from the creation on', async () => {
  await openInstance();
  const before = await emit();
  await untilPast();
  const receiver = await openReceiver();
  await create({ url: receiver.url, events: ['key.revoked', 'computer.*'] });
  await emit();
  const key_id = newId('key');
  const data = { key_id, org: DEFAULT_ORG, by_key_id: null };
  const id = eventIds.key(key_id, 'revoked');
  await publish(
    makeEvent({ name: 'key.revoked', id, source: '/t', time: new Date(), data: { ...data, org: 'org_b' } }),
  );
  const wanted = await publish(
    makeEvent({ name: 'key.revoked', id: `${id}2`, source: '/t', time: new Date(), data }),
  );
  await until(() => expect(receiver.of(wanted)).toHaveLength(1));
  expect(receiver.of(before)).toEqual([]);
  expect(receiver.received).toHaveLength(1);
});

test('a refused call is sent too, although it is in another stream', async () => {
  await openInstance();
  const receiver = await openReceiver();
  await create({ url: receiver.url, events: ['call.*'] });
  const request_id = newId('request');
  const refused = await publish(
    makeEvent({
      name: 'call.refused',
      id: eventIds.refused(request_id),
      source: '/t',
      time: new Date(),
      data: {
        ...{ request_id, org: DEFAULT_ORG, key_id: 'key_1', type: null, method: 'GET', path: '/v1/models' },
        ...{ requested_model: null, computer_id: null, http_status: 403, error_code: 'permission_denied' },
        latency_ms: 1,
      },
    }),
  );
  await until(() => expect(receiver.of(refused)).toHaveLength(1));
});

test('a failing endpoint gets the event again, same id, new signature, until it accepts it', async () => {
  await openInstance();
  const receiver = await openReceiver([500]);
  const { id, secret } = await create({ url: receiver.url, events: ['key.created'] });
  const event = await emit();
  await until(async () =>
    expect(await get(id)).toMatchObject({
      status: 'enabled',
      failing_since: expect.any(String),
      last_error: { event_id: event.id, event_type: 'key.created', http_status: 500 },
    }),
  );
  receiver.answers = [503, 302, 200];
  await until(async () => expect(await get(id)).toMatchObject({ failing_since: null, last_error: {} }));
  const attempts = receiver.of(event).length;
  expect(attempts).toBeGreaterThanOrEqual(4);
  for (const { body, headers } of receiver.of(event))
    new Webhook(secret).verify(body, headers as Record<string, string>);
  const later = await emit();
  await until(() => expect(receiver.of(later)).toHaveLength(1));
  expect(receiver.of(event)).toHaveLength(attempts);
});

test('a receiver that was down gets the missed events when it is up', async () => {
  await openInstance();
  const receiver = await openReceiver([200], await ownPort());
  const { id } = await create({ url: receiver.url, events: ['key.created'] });
  await receiver.stop();
  const events = [await emit(), await emit()];
  await until(async () =>
    expect(await get(id)).toMatchObject({
      last_error: { http_status: null, message: expect.stringContaining('ECONNREFUSED') },
    }),
  );
  await receiver.start(receiver.port);
  for (const event of events) await until(() => expect(receiver.of(event)).toHaveLength(1));
});

test('1,500 events that wait for a later attempt do not keep newer ones from an endpoint', async () => {
  await openInstance({ agesMs: [HOUR_MS], failingMsMax: HOUR_MS });
  const receiver = await openReceiver([500]);
  const { id } = await create({ url: receiver.url, events: ['key.created'] });
  const waiting = 1_500; // JetStream's own bound is 1,000
  await Promise.all(Array.from({ length: waiting }, () => emit()));
  await until(() => expect(receiver.received.length).toBeGreaterThanOrEqual(waiting));
  receiver.answers = [200];
  const event = await emit();
  await until(() => expect(receiver.of(event)).toHaveLength(1));
  await until(async () => expect(await get(id)).toMatchObject({ failing_since: null }));
  expect(receiver.received).toHaveLength(waiting + 1);
});

test('at most 100,000 events of a webhook wait for a later attempt', async () => {
  await openInstance();
  const receiver = await openReceiver();
  const { id } = await create({ url: receiver.url, events: ['key.created'] });
  await until(async () => {
    const bounds: number[] = [];
    for (const { stream } of EVENT_STREAMS)
      for await (const { name, config } of bus.jsm.consumers.list(stream))
        if (name.startsWith(`webhook-${id}-`)) bounds.push(config.max_ack_pending ?? 0);
    expect(bounds).toEqual([100_000, 100_000]);
  });
});

test('an endpoint that never answers delays neither other orgs nor other webhooks of its org', async () => {
  await openInstance();
  const [dead, alive, foreign] = [await openReceiver([0]), await openReceiver(), await openReceiver()];
  await create({ url: dead.url, events: ['key.*'] });
  await create({ url: alive.url, events: ['key.*'] });
  await create({ url: foreign.url, events: ['key.*'] }, 'org_other');
  const emittedAt = performance.now();
  const own = await Promise.all(Array.from({ length: 20 }, () => emit()));
  const theirs = await emit('org_other');
  await until(() => expect(foreign.of(theirs)).toHaveLength(1));
  await until(() => expect(alive.received).toHaveLength(own.length));
  const rounds = Math.ceil((performance.now() - emittedAt) / ATTEMPT_TIMEOUT_MS);
  expect(dead.received.length).toBeLessThanOrEqual(4 * rounds); // running attempts, and none waiting behind them
});

test('an endpoint that fails for too long is disabled, shows the reason, and restarts when it is enabled', async () => {
  await openInstance(HASTY);
  const receiver = await openReceiver([500]);
  const { id } = await create({ url: receiver.url, events: ['key.created'] });
  const missed = await emit();
  await until(async () =>
    expect(await get(id)).toMatchObject({
      status: 'disabled',
      disabled_reason: 'failing',
      last_error: { event_id: missed.id, http_status: 500, message: 'the endpoint answered 500' },
    }),
  );
  await until(async () => expect((await consumers()).filter((name) => name.includes(id))).toEqual([]));
  const attempts = receiver.received.length;
  await emit();
  await untilPast();
  receiver.answers = [200];
  const enabled = await handlers()['webhooks.update'](
    { ...caller(), id, body: { status: 'enabled' } },
    asked,
  );
  expect(enabled).toMatchObject({ status: 'enabled', disabled_reason: null, failing_since: null });
  const event = await emit();
  await until(() => expect(receiver.of(event)).toHaveLength(1));
  expect(receiver.received).toHaveLength(attempts + 1);
});

test('an endpoint that answers 410 is disabled at once', async () => {
  await openInstance();
  const receiver = await openReceiver([410]);
  const { id } = await create({ url: receiver.url, events: ['key.created'] });
  const event = await emit();
  await until(async () =>
    expect(await get(id)).toMatchObject({ status: 'disabled', disabled_reason: 'gone' }),
  );
  expect(receiver.of(event)).toHaveLength(1);
});

test('failures at a former URL do not disable a webhook', async () => {
  await openInstance({ agesMs: [50], failingMsMax: 20 * HOUR_MS });
  const attempted = Promise.withResolvers<ServerResponse>();
  const former = createServer((_request, response) => attempted.resolve(response)).listen(0, '127.0.0.1');
  await once(former, 'listening');
  const { port } = former.address() as AddressInfo;
  const { id } = await create({ url: `http://127.0.0.1:${port}/`, events: ['key.created'] });
  await emit();
  const response = await attempted.promise;
  const failing_since = new Date(Date.now() - 21 * HOUR_MS).toISOString();
  const change = (record: WebhookRecord) => ({ ...record, failing_since });
  await changeWebhook(operations(), { org: DEFAULT_ORG, id }, { change, eventsOf: () => [] });

  const receiver = await openReceiver([500]);
  const moved = await handlers()['webhooks.update']({ ...caller(), id, body: { url: receiver.url } }, asked);
  expect(moved.failing_since).toBeNull();
  response.writeHead(410).end();
  const dropped = await emit();
  await until(async () => {
    for (const { stream } of EVENT_STREAMS)
      for await (const { name, num_pending, num_ack_pending } of bus.jsm.consumers.list(stream))
        if (name.includes(id)) expect(num_pending + num_ack_pending).toBe(0);
  });
  const deliveries = await deliveriesOf(id);
  expect(deliveries.map(({ http_status }) => http_status)).toContain(410);
  expect(deliveries[0]).toMatchObject({ event_id: dropped.id, next_attempt_at: null });
  expect(await get(id)).toMatchObject({ status: 'enabled' });
  former.close();
});

test('a private address, also by host name, is refused when a webhook is created or changed', async () => {
  await openInstance(QUICK, '');
  const refused = { code: 'url_not_allowed', param: 'url' };
  for (const url of ['http://127.0.0.1/', 'http://localhost/', 'http://169.254.169.254/', 'http://[::1]/'])
    await expect(create({ url, events: ['*'] })).rejects.toMatchObject(refused);
  expect(await operations().webhooks.entries()).toEqual([]);
});

test('a private address is refused at delivery, even if the address was public at creation', async () => {
  await openInstance(HASTY);
  const receiver = await openReceiver();
  const { id } = await create({ url: receiver.url, events: ['key.created'] });
  const [allowing] = instances.splice(0);
  await allowing?.webhooks.stop();
  await allowing?.bus.close();
  await openInstance(HASTY, ''); // the installation no longer allows 127.0.0.1
  await emit();
  await until(async () =>
    expect(await get(id)).toMatchObject({
      status: 'disabled',
      last_error: { http_status: null, message: expect.stringContaining('only the ports') },
    }),
  );
  expect(receiver.received).toEqual([]);
});

test('after a rotation both secrets verify, and only the new one is shown', async () => {
  await openInstance();
  const receiver = await openReceiver();
  const { id, secret } = await create({ url: receiver.url, events: ['key.created'] });
  const rotated = await handlers()['webhooks.rotate']({ ...caller(), id }, asked);
  expect(rotated.secret).not.toBe(secret);
  await emit();
  await until(() => expect(receiver.received).toHaveLength(1));
  const [delivery] = receiver.received;
  for (const one of [secret, rotated.secret])
    new Webhook(one).verify(delivery?.body ?? '', delivery?.headers as Record<string, string>);
  expect(String(delivery?.headers['webhook-signature']).split(' ')).toHaveLength(2);
});

test('events of a webhook can be changed; a deleted one receives nothing and leaves no consumer', async () => {
  await openInstance();
  await openInstance();
  const receiver = await openReceiver();
  const { id } = await create({ url: receiver.url, events: ['computer.*'] });
  await emit();
  await handlers()['webhooks.update']({ ...caller(), id, body: { events: ['key.created'] } }, asked);
  await until(async () => {
    const { config } = await bus.jsm.consumers.info(EVENTS_STREAM, `webhook-${id}-1`);
    expect(config.filter_subjects).toEqual([`event.v1.key.created.${DEFAULT_ORG}`]);
  });
  const event = await emit();
  await until(() => expect(receiver.of(event)).toHaveLength(1));
  await remove(id);
  await until(async () => expect((await consumers()).filter((name) => name.includes(id))).toEqual([]));
  await expect(get(id)).rejects.toThrow(ServiceError);
  const count = receiver.received.length;
  const other = await openReceiver();
  await create({ url: other.url, events: ['key.created'] });
  const last = await emit();
  await until(() => expect(other.of(last)).toHaveLength(1));
  expect(receiver.received).toHaveLength(count);
});

test('changed events apply although JetStream refused the first change', async () => {
  await openInstance();
  const receiver = await openReceiver();
  const { id } = await create({ url: receiver.url, events: ['computer.*'] });
  await until(async () => expect(await consumers()).toContain(`webhook-${id}-1`));
  const [first] = instances;
  if (!first) throw new Error('no instance');
  vi.spyOn(first.bus.jsm.consumers, 'update').mockRejectedValueOnce(new Error('no leader'));
  await handlers()['webhooks.update']({ ...caller(), id, body: { events: ['key.created'] } }, asked);
  for (const { stream, suffix } of EVENT_STREAMS)
    await until(async () => {
      const { config } = await bus.jsm.consumers.info(stream, `webhook-${id}-1`);
      expect(config.filter_subjects).toEqual(eventSubjects(DEFAULT_ORG, ['key.created'], suffix));
    });
  const event = await emit();
  await until(() => expect(receiver.of(event)).toHaveLength(1));
});

test('events from just before the bus is killed and from after its return are delivered', async () => {
  await openInstance();
  const receiver = await openReceiver([500]);
  await create({ url: receiver.url, events: ['key.created'] });
  const before = await emit();
  await until(() => expect(receiver.of(before)).not.toEqual([])); // the event is due for a retry
  await nats.restart();
  receiver.answers = [200];
  await until(() => expect(bus.connected).toBe(true));
  let after: Event | null = null;
  await until(async () => {
    after ??= await emit();
  });
  await until(() => expect(after && receiver.of(after)).toHaveLength(1));
  // A killed server may forget the retry time; the event is then redelivered when its ack timer expires.
  const lost = { timeout: FEED_ACK_WAIT_MS + BUSY_MS, interval: 100 };
  await vi.waitFor(() => expect(receiver.of(before).map(({ status }) => status)).toContain(200), lost);
});

test('a webhook of another org is not found', async () => {
  await openInstance();
  const receiver = await openReceiver();
  const { id } = await create({ url: receiver.url, events: ['*'] }, 'org_other');
  await expect(get(id)).rejects.toMatchObject({ code: 'webhook_not_found' });
  await expect(remove(id)).rejects.toMatchObject({ code: 'webhook_not_found' });
});

test('a consumer whose webhook was deleted while no instance ran is removed at the next start', async () => {
  const name = `webhook-${newId('webhook')}-1`;
  await bus.jsm.consumers.add(EVENTS_STREAM, { durable_name: name, ack_policy: 'explicit' });
  await openInstance();
  expect(await consumers()).not.toContain(name);
});

test('the end of a video is sent to its callback_url, signed with the org’s secret, until it is accepted', async () => {
  await openInstance();
  await openInstance();
  const receiver = await openReceiver([500, 200]);
  const told = await endVideo(receiver.url);
  await until(() => expect(receiver.of(told)).toHaveLength(2));
  const { secret } = await handlers()['signing-secret.get'](caller());
  for (const { body, headers } of receiver.of(told))
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({
      type: 'video.completed',
      timestamp: told.time,
      data: told.data,
    });
  const feed = await bus.jsm.consumers.info(EVENTS_STREAM, 'video-callbacks');
  expect(feed.config.max_ack_pending, 'waiting callbacks of one org hold up no other org').toBe(-1);
  const quiet = await endVideo(null);
  const next = await endVideo(receiver.url);
  await until(() => expect(receiver.of(next)).toHaveLength(1));
  expect(receiver.of(quiet)).toEqual([]);
});

/** Stores a job's record and its last event, as the video-worker does. */
async function endVideo(callback_url: string | null): Promise<Event> {
  const now = new Date();
  const id = newVideoId(now.getTime());
  const shared = { org: DEFAULT_ORG, key_id: 'key_test', request_id: newId('request'), duration: 5 };
  const at = now.toISOString();
  const record: VideoRecord = {
    ...shared,
    id,
    requested_model: 'acme/video',
    resolution: null,
    created_at: at,
    deadline_at: at,
    callback_url,
    candidates: [{ model: 'acme/video', cost_nano: '1' }],
    state: 'completed',
    deleted: false,
    model: 'acme/video',
    default_resolution: null,
    input_bytes: 0,
    attempt: null,
    attempts: [],
    starts: 0,
    polls: 0,
    lease: null,
    next_at: at,
    difference_nano: '0',
    refunded_nano: '0',
    result: null,
    error: null,
    started_at: at,
    ended_at: at,
    unpublished_events: [],
  };
  await (await openBucket(bus, 'videos')).create(videoKey(DEFAULT_ORG, id), record);
  return publish(
    makeEvent({
      name: 'video.completed',
      id: eventIds.videoEnd(id, 'completed'),
      source: '/switchyard/video-worker',
      time: now,
      data: { ...shared, video_id: id, model: 'acme/video', elapsed_ms: 1, attempts: [], error_code: null },
    }),
  );
}

test('webhooks that are created at once do not exceed the maximum of their org', async () => {
  await openInstance();
  const create = handlers()['webhooks.create'];
  const body = { url: 'https://127.0.0.1/', events: ['*'] } satisfies CreateWebhookRequest;
  const asks = Array.from({ length: WEBHOOKS_PER_ORG_MAX + 5 }, () =>
    create({ ...caller(), body }, asked).then(
      () => 'created',
      ({ code, message }: ServiceError) => (code === 'invalid_request' ? code : `${code}: ${message}`),
    ),
  );
  const outcomes = Object.groupBy(await Promise.all(asks), (outcome) => outcome);
  expect(outcomes).toEqual({
    created: Array(WEBHOOKS_PER_ORG_MAX).fill('created'),
    invalid_request: Array(5).fill('invalid_request'),
  });
});
