import { connect } from 'node:net';
import { ensureEventsStream, openBucket, serve } from '@switchyard/bus';
import { DEFAULT_ORG, EVENTS_STREAM, eventIds, makeEvent, modelCallSubject } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IDLE_TIMERS, startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { MEASURE_EVERY_MS } from './booking-gate.ts';

let edge: TestEdge;
let key: string;

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey();
});
afterAll(() => edge?.stop());

const BILLABLE = [
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/images/generations',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/decisions',
  '/v1/rerank',
  '/v2/rerank',
  '/v1/videos/generations',
  '/v1/computers',
  '/v1/computers/cmp_1/start',
];

function post(path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(edge.url + path, { method: 'POST', headers, body: '{}' });
}

async function answerOf(path: string) {
  const response = await post(path);
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code, response.headers.get('retry-after')];
}

const REFUSED = [503, 'service_unavailable', '30'];
const TAKEN = [400, 'invalid_request', null];
const EVENTS = 25;

/** Fills more than half of the stream with events that billing has not booked. */
async function fill(): Promise<void> {
  const { jsm, js } = edge.bus;
  await jsm.streams.update(EVENTS_STREAM, { max_bytes: 100_000 });
  for (let i = 0; i < EVENTS; i += 1) await js.publish('event.v1.computer.metered.org_x', 'x'.repeat(2_400));
}

/** Resolves when the edge has checked the stream. */
async function look(): Promise<void> {
  edge.clock.advance(MEASURE_EVERY_MS);
  await expect.poll(() => edge.clock.waiting).toBe(IDLE_TIMERS);
}

test('billable work is refused while half the stream waits for billing, and accepted once billing booked', async () => {
  expect(await answerOf('/v1/chat/completions')).toEqual(TAKEN);
  await fill();
  await look();
  for (const path of BILLABLE) expect([path, await answerOf(path)]).toEqual([path, REFUSED]);
  const keys = await post('/v1/keys');
  expect(await keys.json()).toMatchObject({ error: { code: 'invalid_request' } }); // free operations continue
  const { jsm, js } = edge.bus;
  const stored = (await jsm.streams.info(EVENTS_STREAM)).state;
  expect(stored).toMatchObject({ first_seq: 1, last_seq: EVENTS }); // refused calls are in another stream

  await jsm.consumers.add(EVENTS_STREAM, { durable_name: 'billing-p0', ack_policy: 'explicit' });
  const billing = await js.consumers.get(EVENTS_STREAM, 'billing-p0');
  for await (const message of await billing.fetch({ max_messages: EVENTS })) await message.ackAck();
  await look();
  expect(await answerOf('/v1/chat/completions')).toEqual(TAKEN);
});

test('the last count stays valid while the stream cannot be checked', async () => {
  await fill();
  await look();
  await edge.bus.jsm.streams.delete(EVENTS_STREAM);
  await look();
  expect(await answerOf('/v1/chat/completions')).toEqual(REFUSED);
  await ensureEventsStream(edge.bus);
  await look();
  expect(await answerOf('/v1/chat/completions')).toEqual(TAKEN);
});

test('a request that is refused after its body arrived leaves its Idempotency-Key free: nothing began', async () => {
  const socket = connect(edge.port, '127.0.0.1').setEncoding('utf8');
  const head = `POST /v1/computers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n`;
  socket.write(
    `${head}content-type: application/json\r\nidempotency-key: late\r\ncontent-length: 2\r\n\r\n{`,
  );
  const reserved = await openBucket(edge.bus, 'idempotency');
  await expect.poll(() => reserved.entries()).toHaveLength(1);
  await fill();
  edge.clock.advance(MEASURE_EVERY_MS);
  await expect.poll(() => edge.metrics()).toMatch(/switchyard_edge_unbooked_share 0\.[5-9]/);
  socket.write('}');
  expect((await socket.toArray()).join('')).toContain('wait for billing');
  expect(await reserved.entries()).toHaveLength(0);
  await edge.bus.jsm.streams.delete(EVENTS_STREAM);
  await ensureEventsStream(edge.bus);
  await look();
});

test('one call tries whether usage can be stored again, and its success admits all', async () => {
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('language'), (call) => {
    const { request_id } = call.head as { request_id: string };
    const event = makeEvent({
      name: 'call.voided',
      id: eventIds.voided(request_id),
      source: '/test',
      time: new Date(edge.clock.now()),
      data: { request_id, org: DEFAULT_ORG, reason: 'answer_lost' },
    });
    call.setHead({ status: 200, content_type: 'application/json' });
    call.end({ cost: '0' }, Buffer.from('{}'), event);
  });
  const chat = async (messages: unknown = [{ role: 'user', content: 'Hello!' }]) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'acme/any', messages });
    return (await fetch(`${edge.url}/v1/chat/completions`, { method: 'POST', headers, body })).status;
  };
  const { streams } = edge.bus.jsm;
  await streams.update(EVENTS_STREAM, { max_msg_size: 1 });
  expect(await chat()).toBe(503);
  await streams.update(EVENTS_STREAM, { max_msg_size: -1 });
  // Computers and videos store no usage with their answer, so they do not take the place of the call that tries.
  const other = async () => (await post('/v1/computers/cmp_1/start')).status;
  await expect.poll(other).not.toBe(503);
  // Nor does a call that is refused for its content.
  expect(await chat('no list')).toBe(400);
  expect(await chat()).toBe(200);
  expect(await chat()).toBe(200);
});
