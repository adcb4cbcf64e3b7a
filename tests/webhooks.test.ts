// Webhooks over HTTP, with all services: made, delivered and listed; and control killed after the receiver took an
// event, before the acknowledgement.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  CreatedKey,
  ErrorBody,
  SigningSecret,
  VideoObject,
  WebhookObject,
  WebhookWithSecret,
} from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

const SENT_MS_MAX = 60_000;
/** For a short video and its event. */
const MADE_MS_MAX = 90_000;
/** JetStream redelivers an event after half a minute; control is restarted before that. */
const REDELIVERY_MS_MAX = 180_000;
const TEST_MS_MAX = 300_000;

let stack: TestStack;
let receiver: Server;
let hookUrl: string;
const received: Received[] = [];
/** What the receiver waits for before it answers. */
let mayAnswer: Promise<void> = Promise.resolve();

beforeAll(async () => {
  receiver = createServer((request, response) => {
    request
      .setEncoding('utf8')
      .toArray()
      .then(async (parts) => {
        received.push({ headers: request.headers, body: parts.join('') });
        await mayAnswer;
        response.end();
      });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  hookUrl = `http://127.0.0.1:${port}/`;
  stack = await startStack({ env: { SWITCHYARD_EGRESS_ALLOW: `127.0.0.1:${port}` } });
});

afterAll(async () => {
  await stack?.stop();
  receiver.closeAllConnections();
  receiver.close();
});

/** The body, typed as a test expects it: a missing member is undefined and fails the test. */
async function api<T = object>(method: string, path: string, body?: object) {
  const answer = await fetch(stack.url + path, {
    method,
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, body: (await answer.json()) as T };
}

/** Makes a key, and so the event `<id>:created`. */
const makeKey = async (): Promise<string> =>
  (await api<CreatedKey>('POST', '/v1/keys', { name: 'event', permissions: ['usage:read'] })).body.id;
const deliveriesOf = (id: string) => received.filter(({ headers }) => headers['webhook-id'] === id);
const verify = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

test('a webhook is made, gets its events signed, shows its secret once, and is deleted', async () => {
  const made = await api<WebhookWithSecret>('POST', '/v1/webhooks', {
    url: hookUrl,
    events: ['key.created'],
    description: 'mine',
  });
  expect(made).toMatchObject({
    status: 201,
    body: {
      object: 'webhook',
      status: 'enabled',
      secret: expect.stringMatching(/^whsec_/),
      last_error: null,
    },
  });
  const { secret, ...shown } = made.body;
  expect((await api<{ data: WebhookObject[] }>('GET', '/v1/webhooks')).body.data).toEqual([shown]);
  expect((await api('GET', `/v1/webhooks/${shown.id}`)).body).toEqual(shown);
  const key = await makeKey();
  await vi.waitFor(() => expect(deliveriesOf(`${key}:created`)).toHaveLength(1), SENT_MS_MAX);
  const [delivery] = deliveriesOf(`${key}:created`);
  expect(delivery && verify(secret, delivery)).toMatchObject({ type: 'key.created', data: { key_id: key } });
  expect((await api('DELETE', `/v1/webhooks/${shown.id}`)).body).toEqual({
    id: shown.id,
    object: 'webhook',
    deleted: true,
  });
  expect((await api<ErrorBody>('GET', `/v1/webhooks/${shown.id}`)).body.error.code).toBe('webhook_not_found');
});

test('an invalid webhook is refused with the name of the wrong field', async () => {
  const refused = async (body: object) => (await api<ErrorBody>('POST', '/v1/webhooks', body)).body.error;
  const events = ['*'];
  expect(await refused({ url: 'http://127.0.0.1/', events })).toMatchObject({
    code: 'url_not_allowed',
    param: 'url',
  });
  expect(await refused({ url: 'ftp://example.com/', events })).toMatchObject({
    code: 'invalid_request',
    param: 'url',
  });
  expect(await refused({ url: hookUrl, events: ['moon.rose'] })).toMatchObject({
    code: 'invalid_request',
    param: 'events.0',
  });
  expect(await refused({ url: hookUrl, events, secret: 'x' })).toMatchObject({ code: 'unknown_field' });
});

test('a key that may not read events may not have them sent', async () => {
  const { body: made } = await api<CreatedKey>('POST', '/v1/keys', {
    name: 'keys only',
    permissions: ['keys:write'],
  });
  const answer = await fetch(`${stack.url}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: hookUrl, events: ['*'] }),
  });
  const { error } = (await answer.json()) as ErrorBody;
  expect(error).toMatchObject({ code: 'permission_denied', message: expect.stringContaining('usage:read') });
});

test('the secret for callback_urls is the same each time, until it is rotated', async () => {
  const first = (await api<SigningSecret>('GET', '/v1/webhooks/signing_secret')).body;
  expect(first).toEqual({ object: 'webhook_signing_secret', secret: expect.stringMatching(/^whsec_/) });
  expect((await api('GET', '/v1/webhooks/signing_secret')).body).toEqual(first);
  const rotated = (await api<SigningSecret>('POST', '/v1/webhooks/signing_secret/rotate')).body;
  expect(rotated.secret).not.toBe(first.secret);
  expect((await api('GET', '/v1/webhooks/signing_secret')).body).toEqual(rotated);
});

test('a video’s end is sent to its callback_url, signed with the secret for callback_urls', async () => {
  const { secret } = (await api<SigningSecret>('GET', '/v1/webhooks/signing_secret')).body;
  const asked = { model: 'local/video', prompt: 'a red ball', duration: 1, callback_url: hookUrl };
  const job = await api<VideoObject>('POST', '/v1/videos/generations', asked);
  expect(job.status).toBe(202);
  const { id } = job.body;
  await vi.waitFor(() => expect(deliveriesOf(`${id}:completed`)).toHaveLength(1), MADE_MS_MAX);
  const [delivery] = deliveriesOf(`${id}:completed`);
  expect(delivery && verify(secret, delivery)).toMatchObject({
    type: 'video.completed',
    data: { video_id: id, error_code: null },
  });
  const withPrivateUrl = { ...asked, callback_url: 'http://169.254.169.254/' };
  expect((await api<ErrorBody>('POST', '/v1/videos/generations', withPrivateUrl)).body.error).toMatchObject({
    code: 'url_not_allowed',
    param: 'callback_url',
  });
});

test('an event sent but not acknowledged when control is killed is sent again under the same id', {
  timeout: TEST_MS_MAX,
}, async () => {
  const { body: webhook } = await api<WebhookWithSecret>('POST', '/v1/webhooks', {
    url: hookUrl,
    events: ['key.created'],
  });
  const answering = Promise.withResolvers<void>();
  mayAnswer = answering.promise;
  const key = await makeKey();
  const id = `${key}:created`;
  await vi.waitFor(() => expect(deliveriesOf(id)).toHaveLength(1), SENT_MS_MAX);
  await stack.kill9('control'); // the receiver has it, and JetStream does not know
  answering.resolve();
  await vi.waitFor(() => expect(deliveriesOf(id).length).toBeGreaterThanOrEqual(2), REDELIVERY_MS_MAX);
  for (const delivery of deliveriesOf(id)) verify(webhook.secret, delivery);
  expect((await api('GET', `/v1/webhooks/${webhook.id}`)).body).toMatchObject({ status: 'enabled' });
});
