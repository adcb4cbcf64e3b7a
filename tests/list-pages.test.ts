// Every list of the OpenAPI document, walked one thing at a time: a client that knows one list knows all.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { List } from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { callAs } from './__fixtures__/tenants.ts';
import { untilBooked } from './__fixtures__/until-booked.ts';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly in: string; readonly name: string }[];
}
interface Identified {
  readonly id: string;
}
type Page = List<unknown>;

/** Without Docker these are refused. */
const OF_COMPUTERS = ['listComputers', 'listExecs'];
/** There is one for each month. */
const STATEMENTS = 'listStatements';
const MADE = { status: 'completed' };
const MADE_MS_MAX = 60_000;
const MONTH_LENGTH = 'yyyy-mm'.length;
const TWO = ['first', 'second'];

let stack: TestStack;
/** Receives webhooks. */
let receiver: Server;
/** Values of the parameters in paths, by list. */
let paths: Readonly<Record<string, Readonly<Record<string, string>>>>;

const get = <T>(path: string) => callAs<T>(stack, stack.key, 'GET', path);
const post = <T = Identified>(path: string, body?: object) => callAs<T>(stack, stack.key, 'POST', path, body);

beforeAll(async () => {
  receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  stack = await startStack({ env: { SWITCHYARD_EGRESS_ALLOW: host } });
  const webhooks: string[] = [];
  const videos: string[] = [];
  for (const name of TWO) {
    await post('/v1/keys', { name, permissions: ['usage:read'] });
    await post('/v1/orgs', { name });
    await post('/v1/credits', { amount: 1, reason: name });
    await storeFile(name);
    const hook = { url: `http://${host}/`, events: ['budget.threshold'] };
    webhooks.push((await post('/v1/webhooks', hook)).id);
    const video = { model: 'local/video', prompt: name, duration: 1 };
    videos.push((await post('/v1/videos/generations', video)).id);
    await post('/v1/embeddings', { model: 'local/embed', input: name });
  }
  const [webhook = ''] = webhooks;
  for (const _ of TWO) await post(`/v1/webhooks/${webhook}/test`);
  for (const id of videos)
    await vi.waitFor(async () => expect(await get(`/v1/videos/${id}`)).toMatchObject(MADE), MADE_MS_MAX);
  await untilBooked(stack.url, stack.key);
  const month = new Date().toISOString().slice(0, MONTH_LENGTH);
  const line = await bookedLine(month);
  paths = { listWebhookDeliveries: { id: webhook }, listStatementEvents: { month, line } };
});
afterAll(async () => {
  await stack?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

async function storeFile(content: string): Promise<void> {
  const body = new FormData();
  body.append('file', new Blob([content]), `${content}.txt`);
  const headers = { authorization: `Bearer ${stack.key}` };
  expect((await fetch(`${stack.url}/v1/files`, { method: 'POST', headers, body })).status).toBe(201);
}

/** The line of the statement that has both embeddings. */
async function bookedLine(month: string): Promise<string> {
  interface Statement {
    readonly lines: readonly { readonly id: string; readonly model: string | null; readonly calls: number }[];
  }
  const { lines } = await get<Statement>(`/v1/statements/${month}`);
  const line = lines.find(({ model }) => model === 'local/embed');
  expect(line?.calls).toBe(TWO.length);
  return line?.id ?? '';
}

/** Every list but those of computers: its name, and its path with `after`, `limit` and `cursor`. */
async function lists(): Promise<{ name: string; path: string }[]> {
  const document = await get<{ paths: Record<string, { get?: Operation }> }>('/v1/openapi.json');
  const found = Object.entries(document.paths).flatMap(([path, { get: operation }]) =>
    operation?.operationId.startsWith('list') ? [{ path, operation }] : [],
  );
  return found
    .map(({ path, operation: { operationId: name, parameters } }) => {
      const queries = parameters.filter((one) => one.in === 'query').map((one) => one.name);
      expect(queries, name).toEqual(expect.arrayContaining(['limit', 'after', 'cursor']));
      return { name, path: path.replaceAll(/\{(\w+)\}/g, (_, part) => paths[name]?.[part] ?? '') };
    })
    .filter(({ name }) => !OF_COMPUTERS.includes(name));
}

/** Follows `last_id` from page to page, and returns the ids. */
async function walk(path: string, name: string): Promise<(string | null)[]> {
  const ids: (string | null)[] = [];
  for (let after: string | null = null; ; ) {
    const at = (parameter: string): string =>
      `${path}?limit=1${after === null ? '' : `&${parameter}=${encodeURIComponent(after)}`}`;
    const page = await get<Page>(at('after'));
    expect(page.data.length, name).toBeLessThanOrEqual(1);
    expect(page.first_id, name).toBe(page.last_id);
    expect(page.next_cursor, name).toBe(page.has_more ? page.last_id : null);
    const { data: _, ...by } = await get<Page>(at('cursor'));
    expect(page, name).toMatchObject(by);
    if (page.data.length === 1) ids.push(page.last_id);
    if (!page.has_more) return ids;
    after = page.last_id;
  }
}

test('every list gives the same by `after` or `cursor` as when it is read whole', async () => {
  const found = await lists();
  expect(found.length).toBeGreaterThanOrEqual(13);
  for (const { name, path } of found) {
    const whole = await get<Page>(`${path}?limit=1000`);
    expect(whole.data.length, name).toBeGreaterThanOrEqual(name === STATEMENTS ? 1 : 2);
    const ids = await walk(path, name);
    expect(new Set(ids).size, name).toBe(whole.data.length);
    expect([ids.at(0) ?? null, ids.at(-1) ?? null], name).toEqual([whole.first_id, whole.last_id]);
    expect([whole.has_more, whole.next_cursor], name).toEqual([false, null]);
  }
});
