// Budget alerts through the whole stack: a webhook and GET /v1/events get each threshold of a key and of an org once.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

const SENT_MS_MAX = 60_000;

let upstream: Upstream;
let stack: TestStack;
let receiver: Server;
let port: number;
const received: { headers: Record<string, string>; body: string }[] = [];

beforeAll(async () => {
  await untilMidnightIsFar();
  receiver = createServer((request, response) => {
    request
      .setEncoding('utf8')
      .toArray()
      .then((parts) => {
        received.push({ headers: request.headers as Record<string, string>, body: parts.join('') });
        response.end();
      });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  port = (receiver.address() as AddressInfo).port;
  upstream = await startUpstream();
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [chatModel('acme/plain', upstream.url, 'plain')],
  });
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog, SWITCHYARD_EGRESS_ALLOW: `127.0.0.1:${port}` },
  });
});

afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
  receiver.closeAllConnections();
  receiver.close();
});

async function api<T = object>(method: string, path: string, body?: object, key = stack.key): Promise<T> {
  const answer = await fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const json = (await answer.json()) as T;
  expect(answer.ok, JSON.stringify(json)).toBe(true);
  return json;
}

const chat = (key?: string) =>
  api<{ usage: { cost: number } }>(
    'POST',
    '/v1/chat/completions',
    { model: 'acme/plain', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] },
    key,
  );

const idsOf = (org: string) =>
  received.map(({ headers }) => headers['webhook-id'] ?? '').filter((id) => id.startsWith(org));

test('each threshold of a key and an org reaches the webhook once, signed, and the event stream', async () => {
  const hook = await api<{ secret: string }>('POST', '/v1/webhooks', {
    url: `http://127.0.0.1:${port}/`,
    events: ['budget.*'],
  });
  const { cost } = (await chat()).usage;
  const limit = Number((4 * cost).toFixed(9));
  const key = await api<{ id: string; key: string }>('POST', '/v1/keys', {
    ...{ name: 'limited', permissions: ['models:write'] },
    limit: { amount: limit, interval: 'month' },
  });
  for (let call = 0; call < 4; call += 1) expect((await chat(key.key)).usage.cost).toBe(cost);
  await vi.waitFor(() => expect(idsOf(key.id)).toHaveLength(3), SENT_MS_MAX);
  const month = `${new Date().toISOString().slice(0, 8)}01`;
  expect(idsOf(key.id).toSorted()).toEqual(
    [100, 50, 80].map((at) => `${key.id}:month:${month}:${at}`).toSorted(),
  );
  const [first] = received;
  expect(first && new Webhook(hook.secret).verify(first.body, first.headers)).toMatchObject({
    type: 'budget.threshold',
    data: { key_id: key.id, interval: 'month', starts_at: `${month}T00:00:00.000Z` },
  });

  // Five calls are booked: a limit equal to their cost is reached at once.
  const { org } = await api<{ org: string }>('PATCH', '/v1/account', {
    monthly_limit: Number((5 * cost).toFixed(9)),
  });
  await vi.waitFor(() => expect(idsOf(`${org}:`)).toHaveLength(3), SENT_MS_MAX);
  const events = await fetch(`${stack.url}/v1/events?type=budget.threshold&since=0`, {
    headers: { authorization: `Bearer ${stack.key}` },
  });
  let text = '';
  for await (const part of events.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.split('event: ').length > 6 || text.split('"type":"budget.threshold"').length > 6) break;
  }
  for (const at of [50, 80, 100]) {
    expect(text).toContain(`"id":"${key.id}:month:${month}:${at}"`);
    expect(text).toContain(`"id":"${org}:month:${month}:${at}"`);
  }
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(received.length);
}, 180_000);
