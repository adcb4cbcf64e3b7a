// Retries, against a server that fails on purpose.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dataOf, Switchyard } from '@switchyard/client';
import { expect, onTestFinished, test } from 'vitest';
import { retryingFetch } from './retries.ts';

/** What the server does with a request: a status with headers and a body, or null to drop the connection. */
type Answer = [status: number, headers: Record<string, string>, body: object] | null;

/** No server listens there: those of tests get high ports. */
const NOWHERE = 'http://127.0.0.1:1023';
const OK: Answer = [200, {}, { url: 'http://x/', data: [] }];
const COMPUTER: Answer = [200, {}, { id: 'cmp_1', name: 'one' }];
const IN_USE = refusal('idempotency_in_use', 409, { 'x-should-retry': 'true', 'retry-after': '0' });
const RATE_LIMITED = refusal('rate_limited', 429, { 'x-should-retry': 'true', 'retry-after': '0' });

function refusal(code: string, status: number, headers: Record<string, string> = {}): Answer {
  return [status, headers, { error: { code } }];
}

/** Starts a server that gives these answers. Returns its address, and the idempotency key of each request. */
async function startServer(...answers: Answer[]) {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      keys.push(request.headers['idempotency-key'] as string | undefined);
      const answer = answers.shift();
      if (answer) response.writeHead(answer[0], answer[1]).end(JSON.stringify(answer[2]));
      else request.socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => new Promise<void>((done) => server.close(() => done())));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
}

async function start(...answers: Answer[]) {
  const { url, keys } = await startServer(...answers);
  return { sy: new Switchyard({ url, apiKey: 'sy_test' }), keys };
}

const params = { path: { id: 'cmp_1' } };
const makeLink = ({ api }: Switchyard, options: { signal?: AbortSignal; idempotencyKey?: string } = {}) => {
  const { idempotencyKey: key, ...rest } = options;
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return dataOf(api.POST('/v1/computers/{id}/links', { params, body: { minutes: 1 }, headers, ...rest }));
};

test('a POST whose connection was lost is sent again under its key', async () => {
  const { sy, keys } = await start(null, OK);
  expect(await makeLink(sy)).toMatchObject({ url: 'http://x/' });
  expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), keys[0]]);
});

test('a computer whose creation lost its connection is created under the same key', async () => {
  const { sy, keys } = await start(null, COMPUTER);
  expect((await sy.computers.create()).id).toBe('cmp_1');
  expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), keys[0]]);
});

test('a key of the caller is kept', async () => {
  const { sy, keys } = await start(null, OK);
  await makeLink(sy, { idempotencyKey: 'mine' });
  expect(keys).toEqual(['mine', 'mine']);
});

test('gives up after maxRetries, two by default', async () => {
  const { sy, keys } = await start(null, null, null, OK);
  await expect(makeLink(sy)).rejects.toThrow('fetch failed');
  expect(keys).toHaveLength(3);
});

test('with maxRetries 0 nothing is sent again, and no key is made', async () => {
  const { url, keys } = await startServer(null, OK);
  const sy = new Switchyard({ url, apiKey: 'sy_test', maxRetries: 0 });
  await expect(makeLink(sy)).rejects.toThrow('fetch failed');
  expect(keys).toEqual([undefined]);
});

test('a refused request is sent again only when the API advises it', async () => {
  const advised = await start(RATE_LIMITED, OK);
  expect(await makeLink(advised.sy)).toMatchObject({ url: 'http://x/' });
  const hopeless = refusal('computer_limit_reached', 429, { 'x-should-retry': 'false' });
  const { sy, keys } = await start(hopeless, OK);
  await expect(makeLink(sy)).rejects.toMatchObject({ code: 'computer_limit_reached', status: 429 });
  expect(keys).toHaveLength(1);
});

test('Retry-After is obeyed', async () => {
  const { sy } = await start(
    refusal('rate_limited', 429, { 'x-should-retry': 'true', 'retry-after': '1' }),
    OK,
  );
  const started = performance.now();
  await makeLink(sy);
  expect(performance.now() - started).toBeGreaterThan(990); // without it at most 500
});

test('an abort ends the wait', async () => {
  const { sy, keys } = await start(
    refusal('rate_limited', 429, { 'x-should-retry': 'true', 'retry-after': '3600' }),
    OK,
  );
  const away = new AbortController();
  const failed = expect(makeLink(sy, { signal: away.signal })).rejects.toThrow('gone away');
  await expect.poll(() => keys).toHaveLength(1);
  away.abort(new Error('gone away'));
  await failed;
  expect(keys).toHaveLength(1);
});

test('an aborted request is not sent again', async () => {
  const { sy, keys } = await start(null, OK);
  await expect(makeLink(sy, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  expect(keys).toEqual([]);
});

test('an answer of a proxy that lost the API is retried only for what runs once', async () => {
  const lost: Answer = [502, {}, {}];
  const { sy, keys } = await start(lost, OK, lost, OK);
  await makeLink(sy);
  expect(keys).toHaveLength(2);
  const change = sy.api.PATCH('/v1/keys/{id}', { params: { path: { id: 'key_1' } }, body: { name: 'x' } });
  await expect(dataOf(change)).rejects.toMatchObject({ status: 502 });
  expect(keys).toEqual([keys[0], keys[0], undefined]);
});

test('a stream that may have begun is never sent again; one that was refused is', async () => {
  const { sy, keys } = await start(RATE_LIMITED, null, OK);
  const body = { command: 'true', stream: true };
  const stream = sy.api.POST('/v1/computers/{id}/exec', { params, body, parseAs: 'stream' });
  await expect(stream).rejects.toThrow('fetch failed');
  expect(keys).toEqual([undefined, undefined]);
});

test('an upload is sent once and without a key', async () => {
  const { sy, keys } = await start(null, RATE_LIMITED, OK);
  const form = new FormData();
  form.set('file', new Blob(['lost']), 'note.txt');
  const upload = sy.api.POST('/v1/files', { body: { file: '' }, bodySerializer: () => form });
  await expect(upload).rejects.toThrow('fetch failed');
  const write = sy.api.PUT('/v1/computers/{id}/files', {
    params: { ...params, query: { path: 'note.txt' } },
    body: '',
    bodySerializer: () => new Blob(['lost']).stream(),
    headers: { 'content-type': 'application/octet-stream' },
    duplex: 'half',
  });
  await expect(dataOf(write)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(keys).toEqual([undefined, undefined]);
});

test('goes on without its own key when kept answers fill the quota', async () => {
  const { sy, keys } = await start(
    refusal('idempotency_quota_exceeded', 429, { 'x-should-retry': 'false' }),
    OK,
  );
  await makeLink(sy);
  expect(keys).toEqual([expect.any(String), undefined]);
});

test('waits for the first request under its key, and spends no retries on it', async () => {
  const { sy, keys } = await start(null, ...Array<Answer>(5).fill(IN_USE), null, OK);
  await makeLink(sy);
  expect(keys).toEqual(Array(8).fill(keys[0]));
});

test('waits for the first request under its key for a bounded time', async () => {
  const { url, keys } = await startServer(IN_USE, OK);
  const answer = await retryingFetch({ maxRetries: 2, waitMsMax: 0 })(new Request(url, { method: 'POST' }));
  expect(await answer.json()).toEqual({ error: { code: 'idempotency_in_use' } });
  expect(keys).toHaveLength(1);
});

test('a computer that a lost request deleted is deleted', async () => {
  const { sy, keys } = await start(COMPUTER, null, refusal('computer_not_found', 404));
  await (await sy.computers.get('cmp_1')).delete();
  expect(keys).toHaveLength(3);
});

test('a request that no server took is sent again, a stream too', async () => {
  const started = performance.now();
  const headers = { 'content-type': 'application/json' };
  const request = new Request(NOWHERE, { method: 'POST', headers, body: '{"stream":true}' });
  await expect(retryingFetch({ maxRetries: 1 })(request)).rejects.toThrow('fetch failed');
  expect(performance.now() - started).toBeGreaterThan(370); // the shortest delay
});
