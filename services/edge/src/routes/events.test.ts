// GET /v1/events on a real nats-server: what a browser that follows, sleeps and returns sees.
import { getEventListeners, once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createEventPublisher } from '@switchyard/bus';
import {
  DEFAULT_ORG,
  EVENT_STREAMS_PER_KEY_MAX,
  EVENT_STREAMS_PER_ORG_MAX,
  EVENTS_STREAM,
  type Event,
  eventIds,
  makeEvent,
  newId,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;
let publish: (event: Event) => Promise<unknown>;

beforeAll(async () => {
  edge = await startTestEdge();
  const publisher = await createEventPublisher({
    bus: edge.bus,
    outboxDir: await temporaryFolder('outbox'),
    logger: makeLogger('test', 'silent'),
  });
  publish = (event) => publisher.publish(event);
});
afterAll(() => edge?.stop());

interface Sent {
  id: string | undefined;
  event: string | undefined;
  data: {
    id: string;
    type: string;
    timestamp: string;
    data: Record<string, unknown>;
    error?: { code: string };
  };
}

/** Opens the stream; `take(n)` resolves with its next n events. */
async function follow(secret: string, query = '', headers: Record<string, string> = {}) {
  const gone = new AbortController();
  const answer = await fetch(`${edge.url}/v1/events${query}`, {
    headers: { authorization: `Bearer ${secret}`, ...headers },
    signal: gone.signal,
  });
  let text = '';
  let first: string | undefined;
  const events: Sent[] = [];
  let ended = false;
  const reading = (async () => {
    for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += bytes;
      for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
        const fields = Object.fromEntries(
          text
            .slice(0, at)
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        );
        text = text.slice(at + 2);
        if (fields.data) events.push({ id: fields.id, event: fields.event, data: JSON.parse(fields.data) });
        else first ??= fields.id;
      }
    }
  })()
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  return {
    status: answer.status,
    answer,
    events,
    first: async () => {
      await expect.poll(() => first).toBeDefined();
      return first as string;
    },
    take: async (count: number) => {
      await expect.poll(() => events.length).toBeGreaterThanOrEqual(count);
      return events.splice(0, count);
    },
    ended: () => expect.poll(() => ended).toBe(true),
    close: async () => {
      gone.abort();
      await reading;
    },
  };
}

function keyCreated(org = DEFAULT_ORG, keyId = newId('key')): Event<'key.created'> {
  return makeEvent({
    name: 'key.created',
    id: eventIds.key(keyId, 'created'),
    source: '/test',
    time: new Date(),
    data: { key_id: keyId, org, by_key_id: null },
  });
}

function refused(keyId = newId('key'), computer: string | null = null): Event<'call.refused'> {
  const request_id = newId('request');
  return makeEvent({
    name: 'call.refused',
    id: eventIds.refused(request_id),
    source: '/test',
    time: new Date(),
    data: {
      request_id,
      org: DEFAULT_ORG,
      key_id: keyId,
      type: null,
      method: 'GET',
      path: '/v1/models',
      requested_model: null,
      computer_id: computer,
      http_status: 404,
      error_code: 'route_not_found',
      latency_ms: 1,
    },
  });
}

const ids = (sent: Sent[]) => sent.map(({ data }) => data.id);

test('events of both streams arrive as they happen, as webhooks send them, and none of another org', async () => {
  const stream = await follow(await edge.addKey(['usage:read']));
  expect(stream.answer.headers.get('content-type')).toMatch('text/event-stream');
  await stream.first();
  const [mine, other, bad] = [keyCreated(), keyCreated('org_other'), refused()];
  for (const event of [other, mine, bad]) await publish(event);
  const sent = await stream.take(2);
  expect(ids(sent).sort()).toEqual([mine.id, bad.id].sort());
  const created = sent.find(({ event }) => event === 'key.created');
  expect(created?.data).toEqual({ id: mine.id, type: 'key.created', timestamp: mine.time, data: mine.data });
  await stream.close();
});

test('a reader that comes back with its last id misses nothing, and gets nothing twice', async () => {
  const secret = await edge.addKey(['usage:read']);
  const before = await follow(secret);
  const start = await before.first();
  await before.close();
  const missed = [keyCreated(), refused(), keyCreated(), refused()];
  for (const event of missed) await publish(event);
  const back = await follow(secret, '', { 'last-event-id': start });
  const sent = await back.take(4);
  expect(ids(sent).sort()).toEqual(missed.map(({ id }) => id).sort());
  const live = keyCreated();
  await publish(live);
  expect(ids(await back.take(1))).toEqual([live.id]);
  await back.close();
  const again = await follow(secret, `?since=${sent[1]?.id}`);
  expect(ids(await again.take(3)).sort()).toEqual([...ids(sent.slice(2)), live.id].sort());
  await again.close();
});

test('while events pass, a resumed reader sees each exactly once and in order', async () => {
  const secret = await edge.addKey(['usage:read']);
  const first = await follow(secret);
  const start = await first.first();
  await first.close();
  const all = Array.from({ length: 300 }, () => keyCreated());
  const publishing = (async () => {
    for (const event of all) await publish(event);
  })();
  const readers = await Promise.all([1, 2, 3].map(() => follow(secret, `?since=${start}`)));
  await publishing;
  for (const reader of readers) {
    expect(ids(await reader.take(300))).toEqual(all.map(({ id }) => id));
    await reader.close();
  }
});

test('since=0 reads all that is kept, and filters choose by type, key and computer', async () => {
  const secret = await edge.addKey(['usage:read']);
  const keyId = newId('key');
  const computer = newId('computer');
  const [byKey, byComputer] = [keyCreated(DEFAULT_ORG, keyId), refused(newId('key'), computer)];
  await publish(byKey);
  await publish(byComputer);
  const byType = await follow(secret, '?since=0&type=key.created,video.*');
  expect((await byType.take(5)).every(({ data }) => data.type === 'key.created')).toBe(true);
  await byType.close();
  const ofKey = await follow(secret, `?since=0&key=${keyId}`);
  expect(ids(await ofKey.take(1))).toEqual([byKey.id]);
  await ofKey.close();
  const ofComputer = await follow(secret, `?since=0&computer=${computer}`);
  expect(ids(await ofComputer.take(1))).toEqual([byComputer.id]);
  await ofComputer.close();
});

test('a key without usage:read, an unknown filter and a wrong position are refused', async () => {
  const status = async (secret: string, query = '') => {
    const stream = await follow(secret, query);
    await stream.close();
    return stream.status;
  };
  expect(await status(await edge.addKey(['models:write']))).toBe(403);
  const secret = await edge.addKey(['usage:read']);
  for (const query of ['?type=nothing.happened', '?since=yesterday', '?colour=red', '?key=me'])
    expect(await status(secret, query)).toBe(400);
});

test('HEAD is answered without a stream', async () => {
  const secret = await edge.addKey(['usage:read']);
  for (let asked = 0; asked <= EVENT_STREAMS_PER_KEY_MAX; asked += 1) {
    const headers = { authorization: `Bearer ${secret}` };
    const { status, headers: given } = await fetch(`${edge.url}/v1/events`, { method: 'HEAD', headers });
    expect([status, given.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  }
});

test('a key has a limited number of streams', async () => {
  const secret = await edge.addKey(['usage:read']);
  const streams = await Promise.all(Array.from({ length: EVENT_STREAMS_PER_KEY_MAX }, () => follow(secret)));
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  const refusedOne = await follow(secret);
  expect([refusedOne.status, refusedOne.answer.headers.get('retry-after')]).toEqual([429, '5']);
  await refusedOne.close();
  await streams[0]?.close();
  const followAgain = async () => {
    const next = await follow(secret);
    streams.push(next);
    return next.status;
  };
  await expect.poll(followAgain).toBe(200);
  for (const stream of streams) await stream.close();
});

test('an org has a limited number of streams', async () => {
  const org = newId('org');
  const count = EVENT_STREAMS_PER_ORG_MAX / EVENT_STREAMS_PER_KEY_MAX;
  const secrets = await Promise.all(
    Array.from({ length: count + 1 }, () => edge.addKey(['usage:read'], { org })),
  );
  const [last = '', ...others] = secrets;
  const streams: Awaited<ReturnType<typeof follow>>[] = [];
  for (const secret of others)
    streams.push(
      ...(await Promise.all(Array.from({ length: EVENT_STREAMS_PER_KEY_MAX }, () => follow(secret)))),
    );
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  const refusedOne = await follow(last);
  expect(refusedOne.status).toBe(429);
  const ofAnother = await follow(await edge.addKey(['usage:read']));
  expect(ofAnother.status).toBe(200);
  for (const stream of [...streams, refusedOne, ofAnother]) await stream.close();
});

test('the stream ends with an error event when the key is revoked', async () => {
  const secret = await edge.addKey(['usage:read']);
  const stream = await follow(secret);
  await stream.first();
  await edge.changeKey(secret, { expires_at: new Date(edge.clock.now() + 1_000).toISOString() });
  const lastError = () => {
    edge.clock.advance(2_000);
    return stream.events.at(-1)?.data.error?.code;
  };
  await expect.poll(lastError).toBe('expired_api_key');
  await stream.ended();
});

test('a silent stream has a comment every 15 s', async () => {
  const secret = await edge.addKey(['usage:read']);
  const answer = await fetch(`${edge.url}/v1/events`, { headers: { authorization: `Bearer ${secret}` } });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toMatch(/^id: \d+\.\d+\n\n$/);
  edge.clock.advance(15_000);
  expect((await reader.read()).value).toBe(': keep-alive\n\n');
  await reader.cancel();
});

test('a reader that reads slowly loses no event', async () => {
  const secret = await edge.addKey(['usage:read']);
  const headers = { authorization: `Bearer ${secret}` };
  const asked = request(`${edge.url}/v1/events`, { headers, agent: false }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await once(answer, 'readable');
  // Enough for the buffers of the kernel, and for the events that the edge fetches ahead.
  const pad = 'x'.repeat(4_000);
  const all = Array.from({ length: 3_000 }, () => keyCreated());
  for (let at = 0; at < all.length; at += 500)
    await Promise.all(
      all.slice(at, at + 500).map((event) => publish({ ...event, data: { ...event.data, by_key_id: pad } })),
    );
  let text = '';
  answer.on('data', (bytes) => {
    text += bytes;
  });
  await expect.poll(() => text.slice(-2 * pad.length)).toContain(`"${all.at(-1)?.id}"`);
  expect([...text.matchAll(/"id":"(key_[^"]+)"/g)].map(([, id]) => id)).toEqual(all.map(({ id }) => id));
  asked.destroy();
});

test('a stream that ends leaves no consumers', async () => {
  const consumers = async () => (await edge.bus.jsm.streams.info(EVENTS_STREAM)).state.consumer_count;
  await expect.poll(consumers).toBe(1); // the test's own log of events
  const stream = await follow(await edge.addKey(['usage:read']));
  await expect.poll(consumers).toBe(2);
  await stream.close();
  await expect.poll(consumers).toBe(1);
});

test('a stream that ends with an error leaves no listener that would keep it in memory', async () => {
  const secret = await edge.addKey(['usage:read']);
  const any = vi.spyOn(AbortSignal, 'any');
  const readers = Object.getPrototypeOf(edge.bus.js.consumers) as typeof edge.bus.js.consumers;
  const broken = vi.spyOn(readers, 'get').mockRejectedValue(new Error('no consumer'));
  try {
    const stream = await follow(secret);
    expect((await stream.take(1))[0]?.event).toBe('error');
    await stream.ended();
    for (const { value } of any.mock.results) expect(getEventListeners(value, 'abort')).toEqual([]);
  } finally {
    broken.mockRestore();
    any.mockRestore();
  }
});
