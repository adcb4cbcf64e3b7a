// A hostile page in a computer, opened by a user who is signed in to the console in the same browser: it is served at
// the console's own origin, and can neither read the console, nor call the API, nor register a service worker.
import type { ComputerLink } from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { openBrowser, visit } from './__fixtures__/open-browser.ts';

const SHOWN_MS_MAX = 60_000;
const PORT = 8000;

/** Answers a page, a service worker, and the headers of the request. */
const SERVER = `
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kinds = {'/worker.js': ('text/javascript', 'self.onfetch = () => {}'), '/headers': ('application/json', json.dumps(dict(self.headers)))}
        kind, body = kinds.get(self.path, ('text/html', '<!doctype html><title>hostile</title><h1>hello</h1>'))
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Service-Worker-Allowed', '/')
        self.send_header('Set-Cookie', 'switchyard_session=mine; Path=/')
        self.send_header('Access-Control-Allow-Origin', '*')
        self.end_headers()
        self.wfile.write(body.encode())
http.server.ThreadingHTTPServer(('127.0.0.1', ${PORT}), Handler).serve_forever()
`;

let stack: TestStack;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let context: BrowserContext;
let own: Page;
let hostile: Page;
let link: string;

async function api<T>(path: string, body?: unknown): Promise<T> {
  const answer = await fetch(stack.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as T;
}

beforeAll(async () => {
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: 'on', SWITCHYARD_WARM_POOL: '1', SWITCHYARD_IDLE_STOP_MINUTES: '30' },
  });
  const { id } = await firstComputer(stack);
  await fetch(`${stack.url}/v1/computers/${id}/files?path=server.py`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${stack.key}` },
    body: SERVER,
  });
  const command = `(python3 server.py > /dev/null 2>&1 &); until curl -sf localhost:${PORT}; do sleep 0.1; done`;
  await api(`/v1/computers/${id}/exec`, { command });
  link = (await api<ComputerLink>(`/v1/computers/${id}/links`, { port: PORT })).url;
  browser = await openBrowser();
  context = await browser.browser.newContext();
  context.setDefaultTimeout(SHOWN_MS_MAX);
  own = await context.newPage();
  await visit(own, stack.url, own.getByLabel('API key'));
  await own.getByLabel('API key').fill(stack.key);
  await own.getByRole('button', { name: 'Sign in' }).click();
  await own.getByTestId('spent-today').waitFor();
  hostile = await context.newPage();
  await visit(hostile, link, hostile.getByRole('heading', { name: 'hello' }));
}, SET_UP_MS_MAX);
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

/** What a script of the hostile page gets: its result, or the name of its error. */
const attempt = (script: string) =>
  hostile.evaluate(`(async () => { ${script} })().catch((error) => 'refused: ' + error.name)`);

test('the server inside never gets the cookie, and sets none', async () => {
  const headers = await attempt(
    `return (await fetch('headers', { credentials: 'include' }).catch(() => fetch('headers'))).json()`,
  );
  expect(Object.keys(headers as object).map((name) => name.toLowerCase())).not.toContain('cookie');
  const cookies = await context.cookies();
  expect(cookies.filter(({ value }) => value === 'mine')).toEqual([]);
  expect(cookies).toMatchObject([{ name: 'switchyard_session', httpOnly: true, sameSite: 'Strict' }]);
});

test.each([
  ['the session', '/v1/session', `{ headers: { 'x-switchyard-csrf': '?' }, credentials: 'include' }`],
  ['the keys', '/v1/keys', `{ credentials: 'include' }`],
  ['the console', '/', `{ credentials: 'include' }`],
  [
    'a new key',
    '/v1/keys',
    `{ method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{}' }`,
  ],
])('its script cannot fetch %s', async (_what, path, options) => {
  expect(await attempt(`return (await fetch(${JSON.stringify(path)}, ${options})).text()`)).toBe(
    'refused: TypeError',
  );
});

test('it has no cookies, no storage and no service workers', async () => {
  expect(await attempt('return document.cookie')).toBe('refused: SecurityError');
  expect(await attempt('return localStorage.length')).toBe('refused: SecurityError');
  expect(await attempt('return indexedDB.open("x").readyState')).toMatch(/^refused: /);
  expect(
    await attempt(`await navigator.serviceWorker.register('worker.js', { scope: '/' }); return 'registered'`),
  ).toMatch(/^refused: /);
  expect(await own.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)')).toBe(0);
});

test('it can neither frame the console nor read a console window', async () => {
  const framed = await attempt(`
    const frame = document.createElement('iframe');
    const loaded = new Promise((resolve) => { frame.onload = resolve; });
    frame.src = '/';
    document.body.append(frame);
    await loaded;
    return frame.contentWindow.document.body.innerText`);
  expect(framed).toBe('refused: SecurityError');
  const opened = context.waitForEvent('page');
  await attempt(`globalThis.other = open('/'); return 'opened'`);
  const popup = await opened;
  await popup.waitForLoadState();
  expect(await attempt('return other.document.body.innerText')).toBe('refused: SecurityError');
  await popup.close();
});

test('a form that it sends to the API does nothing', async () => {
  const before = await api<{ data: unknown[] }>('/v1/keys');
  const answered = hostile.waitForResponse((response) => response.url().endsWith('/v1/keys'));
  await attempt(`
    const form = document.createElement('form');
    Object.assign(form, { method: 'post', action: '/v1/keys', enctype: 'text/plain' });
    document.body.append(form);
    form.submit();
    return 'sent'`);
  expect((await answered).status()).toBe(401);
  expect(await api('/v1/keys')).toEqual(before);
});

test('the console runs no script of a computer, and no service worker, even if it is made to ask', async () => {
  const inside = new URL('worker.js', link).pathname;
  const [script, worker] = (await own.evaluate(`(async () => {
    const asMarkup = document.createElement('div');
    const parserInserted = '<script src=' + ${JSON.stringify(inside)} + '></' + 'script>';
    asMarkup.innerHTML = parserInserted;
    document.body.append(asMarkup);
    const worker = await navigator.serviceWorker.register(${JSON.stringify(inside)}).then(() => 'registered', (error) => 'refused: ' + error.name);
    return [typeof globalThis.onfetch, worker];
  })()`)) as string[];
  expect(script).not.toBe('function');
  expect(worker).toMatch(/^refused: /);
});

test('leaves the console unchanged', async () => {
  await visit(own, stack.url, own.getByTestId('spent-today'));
});
