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
import { afterAll, beforeAll, expect, test } from 'vitest';

let upstream: Upstream;
let stack: TestStack;
let receiver: Server;
let port: number;
const received: { headers: Record<string, string>; body: string }[] = [];

beforeAll(untilMidnightIsFar);
beforeAll(async () => {
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

/** An alert may be delivered again, under the same id, when this process was slow to accept it. */
const idsOf = (whose: string) =>
  [...new Set(received.map(({ headers }) => headers['webhook-id'] ?? ''))].filter((id) =>
    id.startsWith(whose),
  );

test('each threshold of a key and an org reaches the webhook, signed, and once the event stream', async () => {
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
  await expect.poll(() => idsOf(key.id)).toHaveLength(3);
  const month = `${new Date().toISOString().slice(0, 8)}01`;
  const alertsOf = (whose: string) => [50, 80, 100].map((at) => `${whose}:month:${month}:${at}`);
  expect(idsOf(key.id).toSorted()).toEqual(alertsOf(key.id).toSorted());
  const [first] = received;
  expect(first && new Webhook(hook.secret).verify(first.body, first.headers)).toMatchObject({
    type: 'budget.threshold',
    data: { key_id: key.id, interval: 'month', starts_at: `${month}T00:00:00.000Z` },
  });

  // Five calls are booked: a limit equal to their cost is reached at once.
  const { org } = await api<{ org: string }>('PATCH', '/v1/account', {
    monthly_limit: Number((5 * cost).toFixed(9)),
  });
  await expect.poll(() => idsOf(`${org}:`)).toHaveLength(3);
  const events = await fetch(`${stack.url}/v1/events?type=budget.threshold&since=0`, {
    headers: { authorization: `Bearer ${stack.key}` },
  });
  let text = '';
  const shown = () => [...text.matchAll(/"id":"([^"]+:month:[^"]+)"/g)].map(([, id]) => id);
  for await (const part of events.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (shown().length >= 6) break;
  }
  expect(shown().toSorted()).toEqual([...alertsOf(key.id), ...alertsOf(org)].toSorted());
});
