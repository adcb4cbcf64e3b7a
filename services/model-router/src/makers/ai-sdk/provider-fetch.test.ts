// Requests of a provider package on the wire, to a real HTTP server.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createEgress, parseAllowList } from '@switchyard/egress';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMakersAgent } from '../../http/makers-agent.ts';
import type { MemberPlaces } from './declaration.ts';
import { DRY_RUN, mergeMembers, providerFetch, rawMembers } from './provider-fetch.ts';

const dispatcher = createMakersAgent();
let origin = '';
let last: { url: string; headers: IncomingMessage['headers']; body: string } | null = null;
let answer: (response: ServerResponse, request: IncomingMessage) => void;

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  last = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() };
  answer(response, request);
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  server.close();
});

function fetchWith(members: Record<string, string>, places: MemberPlaces = {}, streams = false) {
  answer = (response) => response.end('{}');
  last = null;
  return providerFetch({
    ...{ dispatcher, egress: createEgress(), base: origin },
    requestId: 'req_1',
    members: new Map(Object.entries(members)),
    places,
    streams,
  });
}

const post = (body: string) => ({ method: 'POST', headers: { 'x-api-key': 'k' }, body });

test('members go verbatim to the top level of the JSON body, and replace those of the same name', async () => {
  const fetch = fetchWith({ big: '12345678901234567890', x: '1.0', seed: '{ "a" : [ 1,2 ] }' });
  await fetch(`${origin}/v1`, post('{"model":"m","seed":7,"text":"a \\"seed\\":1 b"}'));
  expect(last?.body).toBe(
    '{"big":12345678901234567890,"x":1.0,"model":"m","seed":{ "a" : [ 1,2 ] },"text":"a \\"seed\\":1 b"}',
  );
  expect(last?.headers).toMatchObject({ 'x-api-key': 'k', 'x-request-id': 'req_1' });
});

test('in a container members join ours, elsewhere they replace ours', async () => {
  const fetch = fetchWith({ config: '{"b":2}', other: '{"b":2}' }, { containers: ['config'] });
  await fetch(origin, post('{"config":{"a":1,"b":1},"other":{"a":1}}'));
  expect(last?.body).toBe('{"config":{"a":1,"b":2},"other":{"b":2}}');
});

test('without members a body goes out byte for byte', async () => {
  const body = '{"a": 1 ,\n"b":[] }';
  await fetchWith({})(origin, post(body));
  expect(last?.body).toBe(body);
});

test('any members come out of any object as they went in', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(object, object, (ours, theirs) => {
      const text = (value: object) => Buffer.from(JSON.stringify(value));
      const merged = JSON.parse(mergeMembers(text(ours), rawMembers(text(theirs))).toString()) as object;
      expect(merged).toEqual(JSON.parse(JSON.stringify({ ...ours, ...theirs })));
    }),
  );
});

test('a GET follows redirects within the origin, with our key, at most five in a row', async () => {
  const fetch = fetchWith({});
  answer = (response, { url }) => {
    if (url === '/v1/job') response.writeHead(302, { location: '/v1/result' }).end();
    else if (url === '/v1/loop') response.writeHead(302, { location: '/v1/loop' }).end();
    else response.end('the result');
  };
  const init = { method: 'GET', headers: { 'x-api-key': 'k' } };
  expect(await (await fetch(`${origin}/v1/job`, init)).text()).toBe('the result');
  expect([last?.url, last?.headers['x-api-key']]).toEqual(['/v1/result', 'k']);
  await expect(fetch(`${origin}/v1/loop`, init)).rejects.toThrow('more than 5 times');
});

test.each([301, 302, 303, 307, 308])(
  'a redirect of a GET to another host is refused, and that host is not asked: %d',
  async (status) => {
    const asked: (string | undefined)[] = [];
    const elsewhere = createServer((request, response) => {
      asked.push(request.url);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { port } = elsewhere.address() as AddressInfo;
    const fetch = fetchWith({});
    answer = (response) => response.writeHead(status, { location: `http://127.0.0.1:${port}/taken` }).end();
    const get = fetch(`${origin}/v1/job`, { headers: { 'x-api-key': 'k' } });
    await expect(get).rejects.toThrow('redirects to another host');
    elsewhere.closeAllConnections();
    elsewhere.close();
    expect(asked).toEqual([]);
  },
);

test('a redirect of a request with our key is refused', async () => {
  const fetch = fetchWith({});
  answer = (response) => response.writeHead(307, { location: `${origin}/elsewhere` }).end();
  await expect(fetch(`${origin}/v1`, post('{}'))).rejects.toThrow();
  expect(last?.url).toBe('/v1');
});

test('an abort closes the socket of the maker, before its answer and in the middle of it', async () => {
  for (const begun of [false, true]) {
    const fetch = fetchWith({});
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    answer = (response) => {
      response.on('close', () => closed.resolve());
      if (begun) response.write('{');
      arrived.resolve();
    };
    const ending = new AbortController();
    const read = fetch(origin, { ...post('{}'), signal: ending.signal }).then((response) => response.text());
    await arrived.promise;
    ending.abort();
    await expect(read).rejects.toThrow();
    await closed.promise;
  }
});

test.each([
  ['', 'application/json', true],
  [', also one that says it is a stream', 'text/event-stream', false],
])(
  'an answer that does not end is refused at its limit, and its connection closed%s',
  async (_also, type, streams) => {
    const closed = Promise.withResolvers<void>();
    const fetch = fetchWith({}, {}, streams);
    answer = async (response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, { 'content-type': type });
      const chunk = Buffer.alloc(1024 * 1024, '[');
      while (!response.destroyed) if (!response.write(chunk)) await once(response, 'drain').catch(() => {});
    };
    const { body } = await fetch(origin, post('{}'));
    let bytes = 0;
    const read = async () => {
      for await (const chunk of body ?? []) bytes += chunk.length;
    };
    await expect(read()).rejects.toThrow('the answer is over 268435456 bytes');
    expect(bytes).toBeGreaterThan(267_000_000);
    await closed.promise;
  },
);

test('a dry run isn’t sent', async () => {
  const response = await fetchWith({})(origin, { ...post('{}'), headers: { [DRY_RUN]: 'true' } });
  expect(response.status).toBe(200);
  expect(last).toBeNull();
});

test('a stream that was asked for has no limit', async () => {
  const fetch = fetchWith({}, {}, true);
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    Readable.from(Array(257).fill(Buffer.alloc(1024 * 1024, '\n'))).pipe(response);
  };
  const { body } = await fetch(origin, post('{}'));
  let bytes = 0;
  for await (const chunk of body ?? []) bytes += chunk.length;
  expect(bytes).toBe(257 * 1024 * 1024);
});

test('an answer with a status that HTTP does not know is an answer', async () => {
  const fetch = fetchWith({});
  answer = (response) => response.writeHead(700).end('busy');
  const response = await fetch(origin, post('{}'));
  expect([response.ok, response.status, await response.text()]).toEqual([false, 599, 'busy']);
});

test('a private address outside the maker’s origin is not requested', async () => {
  const fetch = fetchWith({});
  expect((await fetch(`${origin}/job`)).status).toBe(200);
  last = null;
  const elsewhere = origin.replace('127.0.0.1', 'localhost');
  await expect(fetch(`${elsewhere}/latest/meta-data`)).rejects.toMatchObject({ code: 'url_not_allowed' });
  await expect(fetch('http://169.254.169.254/latest/')).rejects.toMatchObject({ code: 'url_not_allowed' });
  expect(last).toBeNull();
});

test('an allowed address outside the maker’s origin is requested by the egress, with its headers', async () => {
  answer = (response) => response.writeHead(201, { 'content-type': 'image/png' }).end('picture');
  const { host } = new URL(origin);
  const fetch = providerFetch({
    ...{
      dispatcher,
      egress: createEgress({ allow: parseAllowList(host) }),
      base: 'https://api.example.com/v1',
    },
    ...{ requestId: 'req_1', members: new Map(), places: {}, streams: false },
  });
  const response = await fetch(`${origin}/out.png`, { headers: { 'x-key': 'k' } });
  expect([response.status, response.headers.get('content-type')]).toEqual([201, 'image/png']);
  expect(await response.text()).toBe('picture');
  expect(last?.headers).toMatchObject({ 'x-key': 'k', 'x-request-id': 'req_1' });
  const redirect = `${origin}/again`;
  answer = (response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
  await expect(fetch(redirect)).rejects.toThrow('redirects to another host');
});
