// Whatever a server inside a computer sends, valid HTTP or not, its client gets an answer and the edge survives.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { serve } from '@switchyard/bus';
import { hostSubject } from '@switchyard/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addComputer } from '../__fixtures__/test-computer.ts';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;
let url: string;
let headers: Record<string, string>;
let inside: Server;
/** How the server inside handles a connection after a request arrived. */
let answer: (connection: Socket, request: string) => void;

beforeAll(async () => {
  edge = await startTestEdge();
  inside = createServer((connection) => {
    connection.on('error', () => {});
    connection.once('data', (request: Buffer) => answer(connection, request.toString('latin1')));
  }).listen(0, '127.0.0.1');
  await once(inside, 'listening');
  const { port } = inside.address() as AddressInfo;
  const computer = await addComputer(edge);
  const service = await serve(edge.bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  service.stream(hostSubject(computer.host, 'port'), async (call) => {
    const connection = connect(port, '127.0.0.1').on('error', () => {});
    call.onCancelled(() => connection.destroy());
    call.write(Buffer.alloc(0));
    pipeline(Readable.from(call.body(), { objectMode: false }), connection).catch(() => {});
    for await (const chunk of connection) if (!call.write(chunk as Buffer)) await call.drained();
    call.end(null);
  });
  url = `${edge.url}/v1/computers/${computer.id}/ports/8000/`;
  headers = { authorization: `Bearer ${await edge.addKey()}` };
});
afterAll(async () => {
  await edge?.stop();
  inside?.close();
});

const HTTP = 'HTTP/1.1';
const HI = 'Content-Length: 2\r\n\r\nhi';

/** The client's answer when the server sends this and hangs up. */
async function ask(said: string, method = 'GET') {
  answer = (connection) => connection.end(Buffer.from(said, 'latin1'));
  const body = method === 'POST' ? { body: 'x' } : {};
  const response = await fetch(url, { method, headers, redirect: 'manual', ...body });
  const text = await response.text();
  const json = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    code: json ? JSON.parse(text || 'null')?.error.code : undefined,
  };
}

describe.each(['GET', 'POST'])('to a %s', (method) => {
  test.each([
    ['an unrequested upgrade', `${HTTP} 101 Up\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nabc`],
    ['a 101 without an upgrade', `${HTTP} 101 Nothing\r\n\r\n`],
    ['the status 000', `${HTTP} 000 Zero\r\n${HI}`],
    ['the status 099', `${HTTP} 099 Less\r\n${HI}`],
    ['early hints and nothing else', `${HTTP} 103 Early\r\nLink: </x>\r\n\r\n`],
    ['two content lengths', `${HTTP} 200 OK\r\nContent-Length: 3\r\n${HI}`],
    ['a length and chunks', `${HTTP} 200 OK\r\nTransfer-Encoding: chunked\r\n${HI}`],
    ['an endless head', `${HTTP} 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n${HI}`],
    ['control characters in a header', `${HTTP} 200 OK\r\nX: a\x01b\r\n${HI}`],
    ['bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['nothing', ''],
  ])('a server that sends %s gives port_unreachable', async (_what, said) => {
    expect(await ask(said, method)).toMatchObject({ status: 502, code: 'port_unreachable' });
  });

  test.each([
    ['a reason with control characters', `${HTTP} 200 O\x01K\r\n${HI}`, 200],
    ['a reason that is not ASCII', `${HTTP} 200 \xe9t\xe9\r\n${HI}`, 200],
    ['the status 999', `${HTTP} 999 Nines\r\n${HI}`, 999],
    ['early hints before its answer', `${HTTP} 103 Early\r\nLink: </x>\r\n\r\n${HTTP} 200 OK\r\n${HI}`, 200],
    ['more bytes than its length', `${HTTP} 200 OK\r\n${HI} and more`, 200],
    ['a second answer', `${HTTP} 200 OK\r\n${HI}${HTTP} 200 OK\r\n${HI}`, 200],
    ['Content-Length listed in Connection', `${HTTP} 200 OK\r\nConnection: content-length\r\n${HI}`, 200],
  ])('an answer with %s is passed on', async (_what, said, status) => {
    expect(await ask(said, method)).toMatchObject({ status, text: 'hi' });
  });
});

const OWN = 'http://localhost:8000';

test.each([
  ['/there', 'PREFIX/there'],
  [`${OWN}/there`, 'PREFIX/there'],
  [OWN, 'PREFIX/'],
  ['PREFIX', 'PREFIX'],
  ['PREFIX/there?a=b', 'PREFIX/there?a=b'],
  [`${OWN}PREFIX/there`, 'PREFIX/there'],
  ['PREFIX0/there', 'PREFIXPREFIX0/there'],
  ['//elsewhere/', '//elsewhere/'],
  ['https://elsewhere/', 'https://elsewhere/'],
])('a redirect to %s leads to %s', async (said, heard) => {
  const prefix = new URL(url).pathname.slice(0, -1);
  const location = said.replaceAll('PREFIX', prefix);
  const { headers: received } = await ask(`${HTTP} 302 Found\r\nLocation: ${location}\r\n${HI}`);
  expect(received.get('location')).toBe(heard.replaceAll('PREFIX', prefix));
});

test('an answer has our request id, and not also that of the server', async () => {
  const { headers: received } = await ask(`${HTTP} 200 OK\r\nX-Request-Id: theirs\r\n${HI}`);
  expect(received.get('x-request-id')).toMatch(/^req_\w+$/);
});

test('headers that make a proxy in front serve something else do not pass', async () => {
  const said = ['X-Accel-Redirect: /internal/', 'X-Sendfile: /etc/passwd', 'X-Accel-Buffering: no'];
  const { headers: received } = await ask(`${HTTP} 200 OK\r\n${said.join('\r\n')}\r\n${HI}`);
  expect([received.get('x-accel-redirect'), received.get('x-sendfile')]).toEqual([null, null]);
  expect(received.get('x-accel-buffering')).toBe('no');
});

/** What the server inside receives of a raw request. */
async function heardInside(...lines: string[]): Promise<string> {
  const heard = Promise.withResolvers<string>();
  answer = (connection, request) => {
    heard.resolve(request);
    connection.end(`${HTTP} 200 OK\r\n${HI}`);
  };
  const client = connect(edge.port, '127.0.0.1').resume();
  try {
    client.write(lines.join('\r\n'));
    return await heard.promise;
  } finally {
    client.destroy();
  }
}

test('an absolute URL, which proxy clients send, leads to the same path', async () => {
  const line = `GET ${url}a%2Fb?c=%20 ${HTTP}`;
  const request = await heardInside(line, 'Host: edge', `Authorization: ${headers.authorization}`, '', '');
  expect(request).toMatch(/^GET \/a%2Fb\?c=%20 HTTP\/1\.1\r\n/);
});

test.each(['caf%E9?x=%', '100%', '%c3%28/..//a;b', `${'x'.repeat(2_000)}?y=%2F`])(
  'the target %s arrives unchanged',
  async (target) => {
    const { pathname } = new URL(url);
    const line = `GET ${pathname}${target} ${HTTP}`;
    const request = await heardInside(line, 'Host: edge', `Authorization: ${headers.authorization}`, '', '');
    expect(request.split('\r\n')[0]).toBe(`GET /${target} ${HTTP}`);
  },
);

test('a body keeps its length, although its client lists Content-Length in Connection', async () => {
  const line = `GET ${new URL(url).pathname} ${HTTP}`;
  const length = ['Connection: content-length', 'Content-Length: 5'];
  const request = await heardInside(
    line,
    'Host: edge',
    `Authorization: ${headers.authorization}`,
    ...length,
    '',
    'hello',
  );
  expect(request).toMatch(/\r\nContent-Length: 5\r\n/);
});

test('an x-api-key is for the server inside, and is no key of ours', async () => {
  const request = await heardInside(
    `GET ${new URL(url).pathname} ${HTTP}`,
    'Host: edge',
    `Authorization: ${headers.authorization}`,
    'X-Api-Key: theirs',
    '',
    '',
  );
  expect(request).toMatch(/\r\nX-Api-Key: theirs\r\n/i);
  const key = headers.authorization?.slice('Bearer '.length) ?? '';
  expect((await fetch(url, { headers: { 'x-api-key': key } })).status).toBe(401);
});

test('the answer of a server that refuses a body early reaches a client that is still sending', async () => {
  answer = (connection) => connection.end(`${HTTP} 413 Too Large\r\nConnection: close\r\n${HI}`);
  const client = connect(edge.port, '127.0.0.1').setEncoding('latin1');
  const lines = [
    `POST ${new URL(url).pathname} ${HTTP}`,
    'Host: edge',
    `Authorization: ${headers.authorization}`,
  ];
  client.write(`${[...lines, 'Content-Length: 50000000'].join('\r\n')}\r\n\r\n${'x'.repeat(1_000_000)}`);
  let heard = '';
  try {
    for await (const chunk of client) {
      heard += chunk;
      if (heard.endsWith('hi')) break;
    }
  } finally {
    client.destroy();
  }
  expect(heard).toMatch(/^HTTP\/1.1 413 Too Large\r\n/);
});

test('a request of HTTP/1.0 without a Host reaches the server', async () => {
  answer = (connection) => connection.end(`${HTTP} 200 OK\r\n${HI}`);
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8');
  socket.write(`GET ${new URL(url).pathname} HTTP/1.0\r\nAuthorization: ${headers.authorization}\r\n\r\n`);
  let text = '';
  for await (const piece of socket) text += piece;
  expect(text).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*hi$/);
});
