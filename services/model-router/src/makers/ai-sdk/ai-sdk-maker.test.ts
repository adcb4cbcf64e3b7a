// What is the same for every maker behind the AI SDK: networks and answers that fail, pauses, and the end of a call.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { upstream } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { freePort } from '@switchyard/local';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Failure, failureOfAnswer, faultOf } from '../../calls/failure.ts';
import { anthropic } from '../anthropic/index.ts';
import type { UpstreamHead } from '../maker.ts';
import { makersAgent } from '../registry.ts';
import { aiSdkMaker } from './ai-sdk-maker.ts';
import { chatFixture } from './chat/replayed-chat.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const EVENT_STREAM = { 'content-type': 'text/event-stream' };

const dispatcher = makersAgent();
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

interface Heard {
  head: UpstreamHead | null;
  chunks: Buffer[];
  ended: Promise<void>;
}

function start(stream: boolean, baseUrl?: string) {
  const body = { model: 'claude-sonnet-4-6', messages: [{ role: 'user', content: 'Hello' }], stream };
  const ended = Promise.withResolvers<void>();
  const heard: Heard = { head: null, chunks: [], ended: ended.promise };
  let tell = () => {};
  const exchange = maker.start(
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
      onHead: (head) => {
        heard.head = head;
      },
      onData: (chunk) => {
        heard.chunks.push(chunk);
        tell();
      },
      onEnd: ended.resolve,
      onError: ended.reject,
    },
  );
  const nextChunk = () =>
    new Promise<void>((resolve) => {
      tell = resolve;
    });
  return { exchange, heard, nextChunk };
}

async function failureOf(stream: boolean, baseUrl?: string): Promise<Failure> {
  const { heard } = start(stream, baseUrl);
  try {
    await heard.ended;
  } catch (error) {
    return faultOf(error);
  }
  const { status = 0, retryAfterS = null } = heard.head ?? {};
  if (status < 300) throw new Error(`it was answered: ${Buffer.concat(heard.chunks)}`);
  return failureOfAnswer(status, Buffer.concat(heard.chunks), retryAfterS);
}

test.each([false, true])(
  'a connection that is refused is told by its code (streamed: %s)',
  async (stream) => {
    expect(await failureOf(stream, `http://127.0.0.1:${await freePort()}`)).toMatchObject({
      status: null,
      kind: 'fault',
      message: 'the upstream could not be reached: ECONNREFUSED',
    });
  },
);

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

test('an error page of a proxy is a fault by its status, without its markup for a message', async () => {
  answer = (response) =>
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html><h1>Bad</h1></html>');
  expect(await failureOf(false)).toMatchObject({ status: 502, kind: 'fault', message: 'Bad Gateway' });
});

test.each(['data: what\n\n', 'what', ''])('a stream of something else (%j) is a fault', async (text) => {
  answer = (response) => response.writeHead(200, EVENT_STREAM).end(text);
  expect((await failureOf(true)).kind).toBe('fault');
});

const events = Buffer.from(
  chatFixture(`${import.meta.dirname}/../anthropic`, 'chat-stream').base64 ?? '',
  'base64',
)
  .toString()
  .split(/(?<=\n\n)/);

test('an exchange that is ended closes the socket of the maker, and its sink hears nothing more', async () => {
  for (const begun of [false, true]) {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    answer = (response) => {
      response.on('close', () => closed.resolve());
      if (begun) response.writeHead(200, EVENT_STREAM).write(events.slice(0, 6).join(''));
      arrived.resolve();
    };
    const { exchange, heard, nextChunk } = start(true);
    await (begun ? nextChunk() : arrived.promise);
    const had = heard.chunks.length;
    exchange.abort();
    await closed.promise;
    expect(heard.chunks).toHaveLength(had);
    expect(
      await Promise.race([
        heard.ended.then(
          () => 'ended',
          () => 'failed',
        ),
        tick(),
      ]),
    ).toBe('silent');
  }
});

test('a paused exchange passes nothing on until it is resumed, and loses nothing', async () => {
  const rest = Promise.withResolvers<void>();
  answer = (response) => {
    response.writeHead(200, EVENT_STREAM).write(events.slice(0, 6).join(''));
    void rest.promise.then(() => response.end(events.slice(6).join('')));
  };
  const { exchange, heard, nextChunk } = start(true);
  await nextChunk();
  exchange.pause();
  rest.resolve();
  const had = heard.chunks.length;
  expect(await Promise.race([heard.ended.then(() => 'ended'), tick()])).toBe('silent');
  expect(heard.chunks.length).toBe(had);
  exchange.resume();
  await heard.ended;
  expect(Buffer.concat(heard.chunks).toString()).toContain('data: [DONE]');
});

/** Long enough for what is on its way already to arrive. */
async function tick(): Promise<'silent'> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return 'silent';
}
