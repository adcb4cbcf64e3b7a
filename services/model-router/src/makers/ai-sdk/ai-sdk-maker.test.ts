// Common to all makers behind the AI SDK: failing networks and answers, pauses, and the end of a call.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { upstream } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { freePort } from '@switchyard/local';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createMakersAgent } from '../../http/makers-agent.ts';
import { chatFixture, HELLO, withMaker } from '../__fixtures__/replayed-chat.ts';
import { anthropic } from '../anthropic/index.ts';
import { type Failure, faultOf } from '../failure.ts';
import { mistral } from '../mistral/index.ts';
import { aiSdkMaker } from './ai-sdk-maker.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const EVENT_STREAM = { 'content-type': 'text/event-stream' };

const dispatcher = createMakersAgent();
const maker = aiSdkMaker(anthropic, {
  secret: () => 'a key',
  dispatcher,
  egress: createEgress(),
  now: Date.now,
});
let answer: (response: ServerResponse) => void;
const server = createServer((request, response) => {
  request.resume().on('end', () => answer(response));
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  server.close();
});

interface TestCall {
  baseUrl?: string;
  signal?: AbortSignal;
  onRequest?: () => void;
}

function call(stream: boolean, { baseUrl, signal, onRequest = () => {} }: TestCall = {}) {
  const body = { model: 'claude-sonnet-4-6', messages: [{ role: 'user', content: 'Hello' }], stream };
  return maker.call(
    {
      type: 'language',
      upstream: upstream.parse({
        adapter: 'anthropic',
        model: 'claude-sonnet-4-6',
        base_url: baseUrl ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      }),
      body: Buffer.from(JSON.stringify(body)),
      stream,
      requestId: 'req_1',
    },
    {
      signal: signal ?? new AbortController().signal,
      onRequest,
      onAccepted: () => {},
      reserve: () => Promise.reject(new Error('nothing is downloaded')),
    },
  );
}

async function failureOf(stream: boolean, baseUrl?: string): Promise<Failure> {
  let bytes: Buffer;
  try {
    const { body } = await call(stream, baseUrl === undefined ? {} : { baseUrl });
    bytes = Buffer.concat(await Array.fromAsync(body));
  } catch (error) {
    return faultOf(error);
  }
  throw new Error(`it was answered: ${bytes}`);
}

test.each([false, true])('a refused connection is reported with its code (streamed: %s)', async (stream) => {
  expect(await failureOf(stream, `http://127.0.0.1:${await freePort()}`)).toMatchObject({
    status: null,
    kind: 'fault',
    message: 'the connection to the upstream failed: ECONNREFUSED',
  });
});

test('an unreachable maker counts as asked: the failure is its own', async () => {
  const onRequest = vi.fn();
  const baseUrl = `http://127.0.0.1:${await freePort()}`;
  await expect(call(false, { baseUrl, onRequest })).rejects.toThrow();
  expect(onRequest).toHaveBeenCalled();
});

test.each<[string, (response: ServerResponse) => void]>([
  ['of another shape', (response) => response.writeHead(200, JSON_TYPE).end('{"hello":"world"}')],
  ['of no JSON', (response) => response.writeHead(200, JSON_TYPE).end('<html>')],
  ['of half a JSON', (response) => response.writeHead(200, JSON_TYPE).end('{"id":"msg_1","content":[')],
  ['of nothing', (response) => response.writeHead(200, JSON_TYPE).end()],
  [
    'whose connection is cut',
    (response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': '100' });
      response.write('{"id":', () => response.destroy());
    },
  ],
])('an answer %s is a fault', async (_what, given) => {
  answer = given;
  expect((await failureOf(false)).kind).toBe('fault');
});

test('a proxy’s error page is a fault by its status, with no markup in its message', async () => {
  answer = (response) =>
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html><h1>Bad</h1></html>');
  expect(await failureOf(false)).toMatchObject({ status: 502, kind: 'fault', message: 'Bad Gateway' });
});

test.each(['data: what\n\n', 'what', ''])('a stream of something else (%j) is a fault', async (text) => {
  answer = (response) => response.writeHead(200, EVENT_STREAM).end(text);
  expect((await failureOf(true)).kind).toBe('fault');
});

test.each(['{nonsense}', '{}'])('an event that cannot be read (%s) is not quoted to the caller', (event) => {
  const base64 = Buffer.from(`data: ${event}\n\n`).toString('base64');
  const stream = { source: 'made for the test', headers: EVENT_STREAM, base64 };
  return withMaker(mistral, [stream], async ({ call: ask }) => {
    const failure = await ask('language', { ...HELLO, stream: true }).catch(faultOf);
    expect(failure).toMatchObject({ status: 200, kind: 'fault', message: 'the answer could not be read' });
  });
});

test('an error in an event of another shape is the maker’s, and classified for fallback', () => {
  const event = { error: { message: 'Slow down.', type: 'rate_limit_error' } };
  const base64 = Buffer.from(`data: ${JSON.stringify(event)}\n\n`).toString('base64');
  const stream = { source: 'made for the test', headers: EVENT_STREAM, base64 };
  return withMaker(mistral, [stream], async ({ call: ask }) => {
    const failure = await ask('language', { ...HELLO, stream: true }).catch(faultOf);
    expect(failure).toMatchObject({ kind: 'rate_limited', message: expect.stringMatching(/: Slow down\.$/) });
  });
});

const events = Buffer.from(
  chatFixture(`${import.meta.dirname}/../anthropic`, 'chat-stream').base64 ?? '',
  'base64',
)
  .toString()
  .split(/(?<=\n\n)/);

test('a call that is ended closes the socket of the maker, and its answer fails', async () => {
  for (const begun of [false, true]) {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    answer = (response) => {
      response.on('close', () => closed.resolve());
      if (begun) response.writeHead(200, EVENT_STREAM).write(events.slice(0, 6).join(''));
      arrived.resolve();
    };
    const ending = new AbortController();
    const called = call(true, { signal: ending.signal });
    if (begun) {
      const chunks = (await called).body[Symbol.asyncIterator]();
      await chunks.next();
      ending.abort();
      await closed.promise;
      await expect(Array.fromAsync(chunks as AsyncGenerator<Uint8Array>)).rejects.toThrow();
    } else {
      const refused = expect(called).rejects.toThrow();
      await arrived.promise;
      ending.abort();
      await closed.promise;
      await refused;
    }
  }
});

test('an answer that is read slowly loses nothing', async () => {
  const rest = Promise.withResolvers<void>();
  answer = (response) => {
    response.writeHead(200, EVENT_STREAM).write(events.slice(0, 6).join(''));
    void rest.promise.then(() => response.end(events.slice(6).join('')));
  };
  const { body } = await call(true);
  const heard: Uint8Array[] = [];
  for await (const chunk of body) {
    heard.push(chunk);
    rest.resolve();
    await tick();
  }
  expect(Buffer.concat(heard).toString()).toContain('data: [DONE]');
});

/** Long enough for data in flight to arrive. */
async function tick(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
