// Ports, terminals and the desktop of a computer on the full stack: HTTP and WebSocket, edge, bus, agent, init, and a
// server inside that listens on localhost only.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { openBrowser, visit } from './__fixtures__/open-browser.ts';

const MANY_BYTES = 20 * 1024 * 1024;
const PORT = 3000;
const SIZE = { cpu: 0.5, memory_mb: 1024 };
/** A server such as a user would write, with a hand-written WebSocket handshake. */
const SERVER = `
const http = require('node:http'), crypto = require('node:crypto');
const server = http.createServer((req, res) => {
  if (req.url === '/echo') { res.writeHead(200, { 'content-type': req.headers['content-type'] ?? 'none' }); return req.pipe(res); }
  if (req.url === '/events') {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: 1\\n\\n');
    return server.once('next', () => res.end('data: 2\\n\\ndata: 3\\n\\n'));
  }
  if (req.url === '/next') { server.emit('next'); return res.end(); }
  if (req.url === '/away') { res.writeHead(302, { location: 'http://localhost:${PORT}/there?a=b' }); return res.end(); }
  res.writeHead(203, { 'x-inside': 'yes', 'set-cookie': 'a=b; Path=/', 'strict-transport-security': 'max-age=1', 'service-worker-allowed': '/' });
  res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers }));
});
server.on('upgrade', (req, socket) => {
  const accept = crypto.createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
  socket.on('data', (frame) => { // short text frames of a client, sent back in capitals
    const length = frame[1] & 127, mask = frame.subarray(2, 6), text = Buffer.from(frame.subarray(6, 6 + length).map((byte, i) => byte ^ mask[i % 4]));
    if ((frame[0] & 15) === 8) return socket.end(Buffer.from([0x88, 0]));
    const out = Buffer.from(text.toString().toUpperCase()); socket.write(Buffer.concat([Buffer.from([0x81, out.length]), out]));
  });
  socket.on('error', () => {});
});
server.listen(${PORT}, '127.0.0.1');
`;

let stack: TestStack;
let id: string;

const authorization = () => ({ authorization: `Bearer ${stack.key}` });
const inside = (path: string, init: RequestInit & { duplex?: 'half' } = {}) =>
  fetch(`${stack.url}/v1/computers/${id}/ports/${PORT}${path}`, {
    redirect: 'manual',
    ...init,
    headers: { ...authorization(), ...(init.headers as Record<string, string>) },
  });

async function post(path: string, body: unknown = {}) {
  const response = await fetch(`${stack.url}/v1${path}`, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  return { status: response.status, body: (await response.json()) as any };
}

async function createComputer(): Promise<string> {
  const { status, body } = await post('/computers', SIZE);
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.id;
}

const link = async (body: object): Promise<string> => (await post(`/computers/${id}/links`, body)).body.url;

/** Messages of a WebSocket as they arrive. */
function messagesOf(socket: WebSocket): {
  next(): Promise<MessageEvent>;
  text(until: string): Promise<string>;
} {
  const came: MessageEvent[] = [];
  let wake = () => {};
  socket.binaryType = 'arraybuffer';
  socket.addEventListener('message', (message) => {
    came.push(message);
    wake();
  });
  socket.addEventListener('close', () => wake());
  const next = async () => {
    while (came.length === 0) {
      if (socket.readyState === WebSocket.CLOSED) throw new Error('the socket is closed');
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return came.shift() as MessageEvent;
  };
  return {
    next,
    async text(until) {
      let all = '';
      while (!all.includes(until)) {
        const { data } = await next();
        all += typeof data === 'string' ? data : Buffer.from(data).toString();
      }
      return all;
    },
  };
}

beforeAll(async () => {
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on', SWITCHYARD_WARM_POOL: '1' } });
  ({ id } = await firstComputer(stack, SIZE));
  const started = await post(`/computers/${id}/exec`, {
    command: `cat > server.cjs; (node server.cjs > log 2>&1 &); until ss -tln | grep -q :${PORT}; do sleep 0.05; done`,
    stdin: SERVER,
  });
  expect(started.body).toMatchObject({ exit_code: 0 });
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
});

describe('a server on a port', () => {
  test('receives the request and its sender but not the key; its answer passes unchanged, in a sandbox', async () => {
    const response = await inside('/a%20b//c?d=%2F', {
      headers: { cookie: 'session=1', 'x-custom': 'kept', 'x-computer-authorization': 'Basic abc' },
    });
    expect(response.status).toBe(203);
    const received = (await response.json()) as {
      method: string;
      url: string;
      headers: Record<string, string>;
    };
    expect(received).toMatchObject({ method: 'GET', url: '/a%20b//c?d=%2F' });
    expect(received.headers).toMatchObject({
      host: `localhost:${PORT}`,
      authorization: 'Basic abc',
      'x-custom': 'kept',
      'x-forwarded-host': new URL(stack.url).host,
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': `/v1/computers/${id}/ports/${PORT}`,
    });
    expect(received.headers).not.toHaveProperty('cookie');
    expect(JSON.stringify(received)).not.toContain(stack.key);
    expect(response.headers.get('x-inside')).toBe('yes');
    expect(response.headers.get('content-security-policy')).toMatch(/^sandbox (?!.*allow-same-origin)/);
    for (const name of ['set-cookie', 'strict-transport-security', 'service-worker-allowed'])
      expect(response.headers.get(name)).toBeNull();
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('takes %s with its body, of any type', async (method) => {
    const response = await inside('/echo', {
      method,
      body: 'nonsense',
      headers: { 'content-type': 'no type' },
    });
    expect(response.headers.get('content-type')).toBe('no type');
    expect(await response.text()).toBe('nonsense');
  });

  test('transfers 20 MB both ways at once, byte for byte', async () => {
    const sent = createHash('sha256');
    let left = MANY_BYTES;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left === 0) return controller.close();
        const chunk = randomBytes(Math.min(left, 256 * 1024));
        left -= chunk.length;
        sent.update(chunk);
        controller.enqueue(chunk);
      },
    });
    const response = await inside('/echo', { method: 'POST', body, duplex: 'half' });
    const came = createHash('sha256');
    for await (const chunk of response.body as ReadableStream<Uint8Array>) came.update(chunk);
    expect(came.digest('hex')).toBe(sent.digest('hex'));
  });

  test('streams its events as they happen', async () => {
    const response = await inside('/events');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    let text = '';
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      // The server writes the others only after this request.
      if (text === 'data: 1\n\n') expect((await inside('/next')).status).toBe(200);
    }
    expect(text).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  });

  test('may listen on ::1 only, which localhost names as well', async () => {
    const port = 3001;
    const server = `require('node:http').createServer((_, res) => res.end('six')).listen(${port}, '::1')`;
    const started = await post(`/computers/${id}/exec`, {
      command: `(node -e "${server}" > /dev/null 2>&1 &); until ss -tln | grep -qF '[::1]:${port}'; do sleep 0.05; done`,
      timeout: 60,
    });
    expect(started.status, JSON.stringify(started.body)).toBe(200);
    const response = await fetch(`${stack.url}/v1/computers/${id}/ports/${port}/`, {
      headers: authorization(),
    });
    expect(await response.text()).toBe('six');
  });

  test('redirects to itself, as it is seen from outside', async () => {
    const response = await inside('/away');
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe(`/v1/computers/${id}/ports/${PORT}/there?a=b`);
  });

  test('gets page requests without the slash redirected to it; other methods arrive at its root', async () => {
    const bare = `${stack.url}/v1/computers/${id}/ports/${PORT}`;
    const asked = await fetch(`${bare}?a=b?c`, { headers: authorization(), redirect: 'manual' });
    expect(asked.status).toBe(308);
    expect(new URL(asked.headers.get('location')!, bare).href).toBe(`${bare}/?a=b?c`);
    const followed = await fetch(`${bare}?a=b`, { headers: authorization() });
    expect(await followed.json()).toMatchObject({ method: 'GET', url: '/?a=b' });
    const head = await fetch(bare, { method: 'HEAD', headers: authorization(), redirect: 'manual' });
    expect(head.status).toBe(308);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const sent = await fetch(`${bare}?a=b`, { method, headers: authorization(), redirect: 'error' });
      expect(await sent.json()).toMatchObject({ method, url: '/?a=b' });
    }
    expect((await fetch(bare, { redirect: 'manual' })).status).toBe(401);
    expect((await fetch(`${bare.slice(0, -4)}x`, { headers: authorization() })).status).toBe(400);
  });

  test('that is missing gets its own 502; an invalid port a 400', async () => {
    const at = (port: string) =>
      fetch(`${stack.url}/v1/computers/${id}/ports/${port}/`, { headers: authorization() });
    const nobody = await at('9');
    expect(nobody.status).toBe(502);
    expect(await nobody.json()).toMatchObject({ error: { code: 'port_unreachable' } });
    expect((await at('70000')).status).toBe(400);
  });

  test('is available only to keys of its org', async () => {
    expect((await fetch(`${stack.url}/v1/computers/${id}/ports/${PORT}/`)).status).toBe(401);
    const unknown = await fetch(`${stack.url}/v1/computers/cmp_another/ports/${PORT}/`, {
      headers: authorization(),
    });
    expect(unknown.status).toBe(404);
  });
});

describe('a link', () => {
  test('opens its port without a key, for pages of any origin, and no other port', async () => {
    const url = await link({ port: PORT });
    const response = await fetch(`${url}x?y`, { headers: { origin: 'null' } });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const { url: asked, headers } = (await response.json()) as {
      url: string;
      headers: Record<string, string>;
    };
    expect(asked).toBe('/x?y');
    expect(headers.origin).toBe(`http://localhost:${PORT}`);
    const bare = await fetch(`${url.slice(0, -1)}?y`, { headers: { origin: 'null' }, redirect: 'manual' });
    expect(bare.status).toBe(308);
    expect(new URL(bare.headers.get('location')!, url.slice(0, -1)).href).toBe(`${url}?y`);
    expect(bare.headers.get('access-control-allow-origin')).toBe('*');
    const preflight = await fetch(`${url}x`, {
      method: 'OPTIONS',
      headers: { origin: 'null', 'access-control-request-method': 'PUT' },
    });
    expect(preflight.status).toBe(204);
    const [token = ''] = new URL(url).pathname.split('/').slice(3);
    const changed = `${token.slice(0, 5)}${token[5] === 'A' ? 'B' : 'A'}${token.slice(6)}`;
    const refused = await fetch(url.replace(token, changed));
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: 'url_not_valid' } });
  });

  test('ends with its key: open connections are closed, and new ones refused', async () => {
    const { body: key } = await post('/keys', { name: 'of a link', permissions: ['computers:write'] });
    const made = await fetch(`${stack.url}/v1/computers/${id}/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ port: PORT }),
    });
    const { url } = (await made.json()) as { url: string };
    const socket = new WebSocket(url.replace(/^http/, 'ws'));
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await fetch(`${stack.url}/v1/keys/${key.id}`, { method: 'DELETE', headers: authorization() });
    await closed;
    const refused = await fetch(url);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
  });

  test('carries WebSockets', async () => {
    const socket = new WebSocket((await link({ port: PORT })).replace(/^http/, 'ws'));
    const messages = messagesOf(socket);
    await once(socket, 'open');
    for (const word of ['hello', 'again']) {
      socket.send(word);
      expect((await messages.next()).data).toBe(word.toUpperCase());
    }
    socket.close();
    await once(socket, 'close');
  });

  test('opens a terminal: input, output, resizing, and the exit code', async () => {
    const socket = new WebSocket(`${await link({})}?cols=100&rows=30`);
    const messages = messagesOf(socket);
    await once(socket, 'open');
    socket.send(Buffer.from('stty size\r'));
    await messages.text('30 100\r\n');
    socket.send(JSON.stringify({ type: 'resize', cols: 120, rows: 40 }));
    socket.send(Buffer.from('stty size; exit 3\r'));
    expect(await messages.text('"exit_code":3')).toContain('40 120\r\n');
    if (socket.readyState !== WebSocket.CLOSED) await once(socket, 'close');
  });
});

test('a browser’s desktop: noVNC answers at the address that its start returns', async () => {
  const { status, body } = await post(`/computers/${id}/desktop`);
  expect(status, JSON.stringify(body)).toBe(200);
  const page = await fetch(body.url);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('noVNC');
  const path = new URL(body.url).searchParams.get('path');
  const socket = new WebSocket(`${stack.url.replace(/^http/, 'ws')}/${path}`, ['binary']);
  const messages = messagesOf(socket);
  expect(await messages.text('RFB 003.008\n')).toBe('RFB 003.008\n');
  socket.close();
  await once(socket, 'close');
});

/** Runs in the page: the size of the canvas and its number of colours. */
const COLOURS = `(() => {
  const canvas = document.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return { width: canvas.width, height: canvas.height, colours: new Set(new Uint32Array(data.buffer)).size };
})()`;

test('a real browser sees the desktop: noVNC’s canvas has its size and several colours', async () => {
  const { body } = await post(`/computers/${id}/desktop`);
  await post(`/computers/${id}/exec`, {
    command: '(setsid xterm -geometry 60x20+50+50 -e "seq 300; sleep 900" > /dev/null 2>&1 &)',
    env: { DISPLAY: ':1' },
  });
  const { newContext, close } = await openBrowser();
  try {
    const page = await (await newContext()).newPage();
    // The message disappears after a second and a half: it may be hidden when it is found.
    await visit(page, body.url, page.getByText('Connected to'));
    const colours = () => page.evaluate<{ width: number; height: number; colours: number }>(COLOURS);
    await expect.poll(async () => (await colours()).colours).toBeGreaterThan(1);
    expect(await colours()).toMatchObject({ width: 1280, height: 800 });
    expect(await page.evaluate('globalThis.origin')).toBe('null'); // not the API's origin
  } finally {
    await close();
  }
}, 420_000);

test('a stopped computer refuses connections with an error', async () => {
  const other = await createComputer();
  await post(`/computers/${other}/stop`);
  const response = await fetch(`${stack.url}/v1/computers/${other}/ports/${PORT}/`, {
    headers: authorization(),
  });
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ error: { code: 'computer_not_running' } });
});
