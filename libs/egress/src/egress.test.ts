// Against real servers. 127.0.0.1 stands for the public internet in tests that allow it; the rest of 127.0.0.0/8 stays
// private, and a server there records whether a connection came.
import { Resolver } from 'node:dns/promises';
import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { ServiceError } from '@switchyard/contracts';
import { afterEach, expect, test } from 'vitest';
import { parseAllowList } from './allow-list.ts';
import { createEgress, type EgressOptions } from './egress.ts';
import { exchange } from './exchange.ts';
import { createLookup } from './lookup.ts';
import { readTarget } from './target.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

interface TestSite {
  port: number;
  /** The address at which each connection arrived. */
  visits: string[];
}

async function site(listener: RequestListener): Promise<TestSite> {
  const server = createServer(listener);
  const visits: string[] = [];
  server.on('connection', (socket) => visits.push(socket.localAddress ?? ''));
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  servers.push(server);
  return { port: (server.address() as AddressInfo).port, visits };
}

/** Names resolve to the given addresses, call by call; the last answer stays. */
function names(answers: Record<string, string[][]>) {
  const asked: string[] = [];
  return {
    asked,
    lookup: async (host: string) => {
      asked.push(host);
      const list = answers[host] ?? [];
      const found = list.length > 1 ? list.shift() : list[0];
      if (!found) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
      return found;
    },
  };
}

const open = (options: EgressOptions = {}) =>
  createEgress({ allow: parseAllowList('127.0.0.1/32'), ...options });

async function failure(work: Promise<unknown>) {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error(`expected a ServiceError, got ${String(error)}`);
  const { code, param, details } = error;
  return { code, param, reason: details?.reason };
}

const REFUSED = { code: 'url_not_allowed', param: 'image', reason: undefined };
const failed = (reason: string) => ({ code: 'url_fetch_failed', param: 'image', reason });
const param = 'image';

test('an exchange that fails leaves no listener on the caller’s signal', async () => {
  const { port } = await site((request) => request.socket.destroy());
  const { signal } = new AbortController();
  const target = readTarget(`http://127.0.0.1:${port}/`, param);
  const sent = { method: 'GET', headers: {}, body: null };
  const exchanged = exchange(target, sent, { param, addresses: ['127.0.0.1'], ca: undefined, signal });
  expect(await failure(exchanged)).toEqual(failed('protocol'));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an answer comes whole, with its status and headers, from any address that is allowed', async () => {
  const { port } = await site((request, response) => {
    response.writeHead(201, { 'content-type': 'image/png', 'x-saw': `${request.method} ${request.url}` });
    request.pipe(response);
  });
  const answer = await open().fetch(`http://127.0.0.1:${port}/a?b=c`, { method: 'POST', body: 'hello' });
  expect(answer).toMatchObject({
    status: 201,
    headers: { 'content-type': 'image/png', 'x-saw': 'POST /a?b=c' },
  });
  expect((await answer.bytes()).toString()).toBe('hello');
});

test.each([
  ['ftp://example.com/a'],
  ['file:///etc/passwd'],
  ['data:text/plain,hello'],
  ['/relative'],
  ['https://user:secret@example.com/'],
  ['http://user@example.com/'],
  [`http://example.com/${'a'.repeat(9_000)}`],
  ['http://example.com:25/'],
  ['http://example.com:6379/'],
])('%s is refused before any name is resolved', async (url) => {
  const { asked, lookup } = names({ 'example.com': [['93.184.215.14']] });
  const egress = createEgress({ lookup });
  expect(await failure(egress.fetch(url, { param }))).toEqual(REFUSED);
  expect(await failure(egress.check(url, { param }))).toEqual(REFUSED);
  expect(asked.filter(() => !/:\d+\/$/.test(url))).toEqual([]);
});

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://0x7f.1/',
  'http://127.1/',
  'http://１２７.0.0.1/',
  'http://0/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::a00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://10.0.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://100.100.100.200/',
  'http://169.254.169.254/latest/meta-data/',
  'http://168.63.129.16/',
  'http://192.0.0.192/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
])('the address in %s is not public, however it is spelled', async (url) => {
  expect(await failure(createEgress().fetch(url, { param }))).toEqual(REFUSED);
  expect(await failure(createEgress().check(url, { param }))).toEqual(REFUSED);
});

test('localhost is refused by its resolved address, with and without a trailing dot', async () => {
  const noNameServer = new Resolver();
  noNameServer.setServers(['127.0.0.1:1']);
  const egress = createEgress({ lookup: createLookup(noNameServer) }); // the hosts file decides
  for (const url of ['http://localhost/', 'http://LOCALHOST./', 'https://localhost/'])
    expect(await failure(egress.fetch(url, { param }))).toMatchObject({ param });
  expect(await failure(egress.fetch('http://localhost/', { param }))).toEqual(REFUSED);
});

test('a name is resolved once, and the connection goes to the address that was checked', async () => {
  const { port, visits } = await site((_request, response) => response.end('public'));
  const { asked, lookup } = names({ 'rebind.test': [['127.0.0.1'], ['127.0.0.2']] });
  const answer = await open({ lookup }).fetch(`http://rebind.test:${port}/`);
  expect((await answer.bytes()).toString()).toBe('public');
  expect(asked).toEqual(['rebind.test']);
  expect(visits).toEqual(['127.0.0.1']);
});

test('a name that turns to a private address after it was checked is refused at the next connection', async () => {
  const { port, visits } = await site((_request, response) =>
    response.writeHead(302, { location: `http://rebind.test:${port}/again` }).end(),
  );
  const { lookup } = names({ 'rebind.test': [['127.0.0.1'], ['127.0.0.2']] });
  expect(await failure(open({ lookup }).fetch(`http://rebind.test:${port}/`, { param }))).toEqual(REFUSED);
  expect(visits).toEqual(['127.0.0.1']);
});

test('only the public addresses of a name that also has private ones are connected to', async () => {
  const { port, visits } = await site((_request, response) => response.end());
  const { lookup } = names({ 'both.test': [['127.0.0.2', '10.0.0.1', '127.0.0.1']] });
  await (await open({ lookup }).fetch(`http://both.test:${port}/`)).bytes();
  expect(visits).toEqual(['127.0.0.1']);
});

test('after an address that refuses, the next one of the name is tried', async () => {
  const { port, visits } = await site((_request, response) => response.end());
  const { lookup } = names({ 'two.test': [['::1', '127.0.0.1']] }); // nothing listens at ::1
  const allow = parseAllowList('127.0.0.1,::1');
  await (await open({ allow, lookup }).fetch(`http://two.test:${port}/`)).bytes();
  expect(visits).toEqual(['127.0.0.1']);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) to a private address is refused, unvisited',
  async (status) => {
    const inner = await site((_request, response) => response.end('secret'));
    for (const location of [
      `http://127.0.0.2:${inner.port}/`,
      `http://inner.test:${inner.port}/`,
      'http://[::1]/',
    ]) {
      const { port } = await site((_request, response) => response.writeHead(status, { location }).end());
      const { lookup } = names({ 'inner.test': [['127.0.0.3']] });
      expect(await failure(open({ lookup }).fetch(`http://127.0.0.1:${port}/`, { param }))).toEqual(REFUSED);
    }
    expect(inner.visits).toEqual([]);
  },
);

test.each([['file:///etc/passwd'], ['gopher://127.0.0.1/'], ['http://user:pw@127.0.0.1/']])(
  'a redirect to %s is refused',
  async (location) => {
    const { port } = await site((_request, response) => response.writeHead(302, { location }).end());
    expect(await failure(open().fetch(`http://127.0.0.1:${port}/`, { param }))).toEqual(REFUSED);
  },
);

test('redirects are followed up to their limit, and no further', async () => {
  const { port } = await site((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('there');
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const at = (left: number) => open().fetch(`http://127.0.0.1:${port}/${left}`, { param, redirectsMax: 3 });
  const answer = await at(3);
  expect((await answer.bytes()).toString()).toBe('there');
  expect(answer.url).toBe(`http://127.0.0.1:${port}/0`);
  expect(await failure(at(4))).toEqual(failed('redirects'));
});

test('with redirectsMax 0, a redirect is the answer', async () => {
  const { port } = await site((_request, response) => response.writeHead(307, { location: '/there' }).end());
  const answer = await open().fetch(`http://127.0.0.1:${port}/`, { redirectsMax: 0 });
  expect(answer).toMatchObject({ status: 307, headers: { location: '/there' } });
  answer.close();
});

test('credentials are not carried to another host, and a body only where the redirect asks for it', async () => {
  const seen: unknown[] = [];
  const there = await site((request, response) => {
    const { authorization, 'x-kept': kept, 'content-type': type } = request.headers;
    request
      .setEncoding('utf8')
      .toArray()
      .then((parts) => {
        seen.push([request.method, authorization, kept, type, parts.join('')]);
        response.end();
      });
  });
  for (const status of [302, 307]) {
    const location = `http://127.0.0.1:${there.port}/`;
    const { port } = await site((_request, response) => response.writeHead(status, { location }).end());
    const headers = { Authorization: 'Bearer s', 'X-Kept': 'yes', 'Content-Type': 'text/plain' };
    await (await open().fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: 'b' })).bytes();
  }
  expect(seen).toEqual([
    ['GET', undefined, 'yes', undefined, ''],
    ['POST', undefined, 'yes', 'text/plain', 'b'],
  ]);
});

test('a body over the limit is refused by its announced length before it is read, and while it comes', async () => {
  let sent = 0;
  const { port } = await site((request, response) => {
    if (request.url === '/announced') return response.writeHead(200, { 'content-length': 1e12 }).write('x');
    response.on('error', () => {});
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) sent += 64 * 1024;
      if (!response.destroyed) response.once('drain', more);
    };
    return more();
  });
  const at = (path: string) =>
    open().fetch(`http://127.0.0.1:${port}${path}`, { param, bytesMax: 1_000_000 });
  const announced = await at('/announced');
  expect(announced.bytesMax).toBe(1_000_000);
  expect(await failure(announced.bytes())).toEqual(failed('too_large'));
  expect(await failure(at('/endless').then((answer) => answer.bytes()))).toEqual(failed('too_large'));
  expect(sent).toBeLessThan(50_000_000); // what sockets hold, not more
});

test('a body of exactly the limit comes whole', async () => {
  const { port } = await site((_request, response) => response.end(Buffer.alloc(1_000, 1)));
  const answer = await open().fetch(`http://127.0.0.1:${port}/`, { bytesMax: 1_000 });
  expect((await answer.bytes()).length).toBe(1_000);
});

test.each([
  ['gzip', gzipSync],
  ['zstd', zstdCompressSync],
])('a %s bomb is unpacked no further than the limit', async (encoding, compress) => {
  const bomb = compress(Buffer.alloc(200 * 1024 * 1024));
  const { port } = await site((_request, response) =>
    response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
  );
  const before = process.memoryUsage().rss;
  const answer = await open().fetch(`http://127.0.0.1:${port}/`, { param, bytesMax: 1_000_000 });
  expect(await failure(answer.bytes())).toEqual(failed('too_large'));
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
});

test('a body that is not read is not refused, whatever its length and encoding', async () => {
  const { port } = await site((_request, response) =>
    response.writeHead(200, { 'content-length': 1e12, 'content-encoding': 'lzma' }).write('x'),
  );
  const answer = await open().fetch(`http://127.0.0.1:${port}/`, { bytesMax: 1_000 });
  answer.close();
  expect(answer).toMatchObject({ status: 200, bytesMax: 1_000 });
});

test('an encoded answer is decoded; one with a wrong or unknown Content-Encoding is refused', async () => {
  const { port } = await site((request, response) => {
    const [, encoding = '', text = ''] = request.url?.split('/') ?? [];
    response.writeHead(200, { 'content-encoding': encoding });
    response.end(text === 'packed' ? gzipSync('hello') : 'hello');
  });
  const at = async (path: string) =>
    (await open().fetch(`http://127.0.0.1:${port}${path}`, { param })).bytes();
  expect((await at('/gzip/packed')).toString()).toBe('hello');
  expect(await failure(at('/gzip/plain'))).toEqual(failed('encoding'));
  expect(await failure(at('/lzma/plain'))).toEqual(failed('encoding'));
});

test('a body that trickles, headers that never come and a name that never resolves end at the deadline', async () => {
  const { port } = await site((request, response) => {
    if (request.url === '/silent') return;
    response.write('a');
  });
  const limits = { param, timeoutMs: 200 };
  const trickle = open().fetch(`http://127.0.0.1:${port}/trickle`, limits);
  expect(await failure(trickle.then((slow) => slow.bytes()))).toEqual(failed('timeout'));
  expect(await failure(open().fetch(`http://127.0.0.1:${port}/silent`, limits))).toEqual(failed('timeout'));
  const lookup = () => new Promise<string[]>(() => {});
  expect(await failure(open({ lookup }).fetch('http://never.test/', limits))).toEqual(failed('timeout'));
  expect(await failure(open({ lookup }).check('http://never.test/', limits))).toEqual(failed('timeout'));
});

test('an unread body is dropped at the deadline, without an unhandled error', async () => {
  let gone = Promise.resolve();
  const { port } = await site((_request, response) => {
    response.write('a');
    gone = new Promise((resolve) => response.once('close', resolve));
  });
  const begins = (timeoutMs: number) =>
    open()
      .fetch(`http://127.0.0.1:${port}/`, { timeoutMs })
      .then(
        () => true,
        () => false,
      );
  // A busy machine gets more time for the head of the answer.
  for (let timeoutMs = 100; !(await begins(timeoutMs)); timeoutMs *= 3);
  await gone;
});

test('the caller’s signal ends a request with its own reason, before the answer and in the middle of it', async () => {
  const arrived = Promise.withResolvers<void>();
  const { port } = await site((request, response) => {
    arrived.resolve();
    if (request.url === '/body') response.write('a');
  });
  const reason = new Error('enough');
  const early = new AbortController();
  const waiting = open().fetch(`http://127.0.0.1:${port}/`, { signal: early.signal });
  arrived.promise.then(() => early.abort(reason));
  await expect(waiting).rejects.toBe(reason);
  const late = new AbortController();
  const answer = await open().fetch(`http://127.0.0.1:${port}/body`, { signal: late.signal });
  late.abort(reason);
  await expect(answer.bytes()).rejects.toBe(reason);
});

test('an answer that breaks off is a failure, never a short body', async () => {
  const { port } = await site((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('short', () => response.destroy());
  });
  const reading = open()
    .fetch(`http://127.0.0.1:${port}/`, { param })
    .then((answer) => answer.bytes());
  expect(await failure(reading)).toEqual(failed('protocol'));
});

test('failures to resolve, to connect and to speak HTTP are reported as different reasons', async () => {
  const closed = await site(() => {});
  const server = servers.pop();
  server?.close();
  await once(server as Server, 'close');
  const { lookup } = names({ 'none.test': [[]] });
  const egress = open({ lookup });
  expect(await failure(egress.fetch('http://missing.test/', { param }))).toEqual(failed('dns'));
  expect(await failure(egress.check('http://none.test/', { param }))).toEqual(failed('dns'));
  expect(await failure(egress.fetch(`http://127.0.0.1:${closed.port}/`, { param }))).toEqual(
    failed('connect'),
  );
  const rude = await site((request) => request.socket.end('SSH-2.0-OpenSSH\r\n'));
  expect(await failure(egress.fetch(`http://127.0.0.1:${rude.port}/`, { param }))).toEqual(
    failed('protocol'),
  );
});

test('a refusal does not reveal what a name resolves to', async () => {
  const { lookup } = names({ 'inner.test': [['10.1.2.3']] });
  const error = await createEgress({ lookup })
    .fetch('http://inner.test/')
    .catch((thrown: unknown) => thrown);
  expect(JSON.stringify([String(error), error])).not.toContain('10.1.2.3');
});

test('host:port allows only this port of this host', async () => {
  const { port, visits } = await site((_request, response) => response.end());
  const { lookup } = names({ 'media.internal': [['127.0.0.2']], 'other.internal': [['127.0.0.2']] });
  const egress = createEgress({ allow: parseAllowList(`media.internal:${port}`), lookup });
  await (await egress.fetch(`http://media.internal:${port}/`)).bytes();
  expect(visits).toEqual(['127.0.0.2']);
  expect(await failure(egress.fetch(`http://other.internal:${port}/`, { param }))).toEqual(REFUSED);
  expect(await failure(egress.fetch('http://media.internal/', { param }))).toEqual(REFUSED);
});

test.each(['http://own.test/', 'http://own6.test/', 'http://[::ffff:93.184.215.14]/'])(
  'a public address that is refused is not reached at %s',
  async (url) => {
    const { lookup } = names({ 'own.test': [['93.184.215.14']], 'own6.test': [['::ffff:93.184.215.14']] });
    const refused = new Set(['93.184.215.14']);
    expect(await failure(open({ lookup, refused }).check(url, { param }))).toEqual(REFUSED);
  },
);
