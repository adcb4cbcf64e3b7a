// Messages that a stolen credential makes nats-server send. It does not check the reply subject of a request, so a
// thief can store any bytes under a key of its own and have them sent to any subject.
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  type Bus,
  connectBus,
  type IncomingCall,
  requestWhole,
  type ServiceHost,
  serve,
  withCredentials,
} from '@switchyard/bus';
import {
  type CreatedKey,
  DEFAULT_ORG,
  EVENTS_STREAM,
  eventIds,
  eventSubject,
  makeEvent,
  operationSubject,
  rateLimitsSubject,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeFrame, FRAME } from '../libs/bus/src/frame.ts';
import { connectAs, credentialsOf } from './__fixtures__/nats-users.ts';
import { callAs } from './__fixtures__/tenants.ts';
import { untilBooked } from './__fixtures__/until-booked.ts';

/** A caller that counts its calls has made fewer before the test. */
const GUESSES = 200;

let stack: TestStack;
let operator: Bus;
/** Another instance of control, with a service of the test. */
let control: Bus;
let service: ServiceHost;
let agent: NatsConnection;
let host: string;
let videoWorker: NatsConnection;
let edge: NatsConnection;

beforeAll(async () => {
  stack = await startStack();
  const logger = makeLogger('test', 'silent');
  operator = await connectBus({ url: stack.natsUrl, service: 'test', logger });
  const url = withCredentials(stack.natsUrl, await credentialsOf(stack, 'control'));
  control = await connectBus({ url, service: 'control', logger });
  service = await serve(control, { name: 'test', version: '0.0.1', description: 'of a test' });
  ({ nc: agent, user: host } = await connectAs(stack, 'computer-agent'));
  ({ nc: videoWorker } = await connectAs(stack, 'video-worker'));
  ({ nc: edge } = await connectAs(stack, 'edge'));
});
afterAll(async () => {
  await Promise.all([agent, videoWorker, edge].map((nc) => nc?.close()));
  await Promise.all([operator, control].map((bus) => bus?.close()));
  await stack?.stop();
});

/** Resolves when this many messages have come to matching subjects. */
async function arrived(pattern: string, count = 1): Promise<{ all: Promise<void> }> {
  const { promise: all, resolve } = Promise.withResolvers<void>();
  operator.nc.subscribe(pattern, {
    max: count,
    callback: () => {
      count -= 1;
      if (count === 0) resolve();
    },
  });
  await operator.nc.flush();
  return { all };
}

/** Resolves when each instance has sent so many heartbeats. */
async function beats(instances: readonly string[], count: number): Promise<void> {
  const heard = await Promise.all(instances.map((instance) => arrived(`_HB.${instance}`, count)));
  await Promise.all(heard.map(({ all }) => all));
}

/** The host makes the server send these bytes to each subject, without headers, as if published. */
async function sendThroughServer(bytes: Uint8Array | string, subjects: readonly string[]): Promise<void> {
  const key = `$KV.computers.${host}.forged`;
  await jetstream(agent).publish(key, bytes);
  for (const reply of subjects)
    agent.publish(`$JS.API.DIRECT.GET.KV_computers.${key}`, '{"no_hdr":true}', { reply });
}

/** A call of the operator to the test's service, which has not answered yet. */
async function openCall(name: string) {
  const taken = Promise.withResolvers<IncomingCall>();
  const subject = `control.v1.test.${name}`;
  service.stream(subject, (call) => taken.resolve(call));
  await control.nc.flush();
  const answer = requestWhole(operator, { subject, head: null }, {}).then(String, (error: Error) => error);
  return { answer, incoming: await taken.promise };
}

describe('a stolen host', () => {
  const cancel = encodeFrame(FRAME.cancel, 0);
  const whole = encodeFrame(FRAME.whole, 0, '{"head":null,"end":null}', Buffer.from('forged'));
  test.each([
    ['answers', whole, () => `_C.control.${operator.instance}`],
    ['cancels', cancel, () => `_S.${control.instance}.${operator.instance}`],
    ['cancels at all instances', cancel, () => `_S.all.control.${operator.instance}`],
  ])('%s no call of others', async (name, frame, prefix) => {
    const { answer, incoming } = await openCall(name.replaceAll(' ', '-'));
    const sent = await arrived(`${prefix()}.*`, GUESSES);
    const guesses = Array.from({ length: GUESSES }, (_, i) => `${prefix()}.${(i + 1).toString(36)}`);
    await sendThroughServer(frame, guesses);
    await sent.all;
    await control.nc.flush();
    incoming.end(null, Buffer.from('true'));
    expect(await answer).toBe('true');
  });

  test('ends no calls of others by a heartbeat of a newer connection', async () => {
    const { answer, incoming } = await openCall('beaten');
    incoming.write(Buffer.from('tr'));
    const instances = [control.instance, operator.instance];
    await beats(instances, 1); // the caller listens to its peer
    await sendThroughServer(
      '99',
      instances.map((instance) => `_HB.${instance}`),
    );
    await beats(instances, 3); // since then both have looked for lost peers
    incoming.end(null, Buffer.from('ue'));
    expect(await answer).toBe('true');
  });

  test('gives no rate limit back', async () => {
    const limits = { requests_per_minute: 1 };
    const body = { name: 'limited', permissions: ['usage:read'], limits };
    const { id, key } = await callAs<CreatedKey>(stack, stack.key, 'POST', '/v1/keys', body);
    const ask = async () =>
      (await fetch(`${stack.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).status;
    await expect.poll(ask).toBe(200);
    const subject = rateLimitsSubject('edge.x');
    const sent = await arrived(subject);
    const taken = { [`requests_per_minute/${id}`]: [-1_000, 0] };
    await sendThroughServer(JSON.stringify({ edge: 'edge.x', number: 1, taken, open: {} }), [subject]);
    await sent.all;
    expect(await ask()).toBe(429);
  });
});

/** The reasons of the credits that the ledger has, once it has one that is granted now. */
async function creditsAfterOneMore(reason: string): Promise<string[]> {
  await callAs(stack, stack.key, 'POST', '/v1/credits', { amount: 1, reason });
  await untilBooked(stack.url, stack.key);
  const { data } = await callAs<{ data: { reason: string }[] }>(stack, stack.key, 'GET', '/v1/credits');
  return data.map((credit) => credit.reason);
}

describe('a stolen video-worker', () => {
  const gift = { org: DEFAULT_ORG, key_id: 'key_x', body: { amount: 1_000_000, reason: 'forged' } };
  const subject = operationSubject('credits.create', gift as never);
  const meta = { from: 'video-worker.x', link: 0, credit: 1_000, more: false, head: { request_id: null } };
  const open = encodeFrame(FRAME.open, 0, JSON.stringify(meta), Buffer.from(JSON.stringify(gift)));
  const key = '$KV.videos.forged';

  test.each([
    [
      'a read value',
      () => videoWorker.publish(`$JS.API.DIRECT.GET.KV_videos.${key}`, '{"no_hdr":true}', { reply: subject }),
    ],
    [
      'a message of a consumer',
      async () => {
        const jsm = await jetstreamManager(videoWorker, { checkAPI: false });
        const name = 'thief';
        await jsm.consumers.add('KV_videos', { durable_name: name, filter_subject: key, ack_policy: 'none' });
        const next = `$JS.API.CONSUMER.MSG.NEXT.KV_videos.${name}`;
        videoWorker.publish(next, '{"batch":1}', { reply: subject });
      },
    ],
  ])('runs no operation of others by %s', async (way, send) => {
    await jetstream(videoWorker).publish(key, open);
    const sent = await arrived(subject);
    await send();
    await sent.all;
    expect(await creditsAfterOneMore(way)).not.toContain('forged');
  });
});

describe('a stolen edge', () => {
  test('states no credit under the subject of an event that it may publish', async () => {
    const id = 'crd_forged';
    const data = { credit_id: id, org: DEFAULT_ORG, key_id: 'k', amount_nano: '1000000000' };
    const forged = makeEvent({
      ...{ name: 'credit.granted', id: eventIds.credit(id), source: 'edge', time: new Date() },
      data: { ...data, reason: 'voided', reference: null },
    });
    const own = `event.v1.call.voided.${DEFAULT_ORG}`;
    await jetstream(edge).publish(own, JSON.stringify(forged), { expect: { streamName: EVENTS_STREAM } });
    // The server sends it to the subject of a credit, with the header that makes it an event.
    const sent = await arrived(eventSubject(forged));
    const jsm = await jetstreamManager(edge, { checkAPI: false });
    const name = 'thief';
    await jsm.consumers.add(EVENTS_STREAM, { durable_name: name, filter_subject: own, ack_policy: 'none' });
    edge.publish(`$JS.API.CONSUMER.MSG.NEXT.${EVENTS_STREAM}.${name}`, '{"batch":1}', {
      reply: eventSubject(forged),
    });
    await sent.all;
    expect(await creditsAfterOneMore('after')).not.toContain('voided');
    expect(await eventIdsUntil('after')).not.toContain(forged.id);
  });
});

/** Ids of the org's events up to the credit with this reason, as GET /v1/events sends them. */
async function eventIdsUntil(reason: string): Promise<string[]> {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${stack.key}` };
  const response = await fetch(`${stack.url}/v1/events?since=0`, { headers, signal: stop.signal });
  let text = '';
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes(`"reason":"${reason}"`)) break;
  }
  stop.abort();
  return [...text.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id as string);
}
