// Orgs with one of everything that an org can have, for tests that try to reach one org from another.
import { type CreatedKey, type CreatedOrg, execEvent, type Permission } from '@switchyard/contracts';
import { expect, vi } from 'vitest';
import type { Kind } from './endpoints.ts';
import { firstComputer } from './first-computer.ts';
import { serverEvents } from './server-events.ts';

/** A call is in Logs within a second; a busy machine takes longer. */
const BOOKED_MS_MAX = 60_000;
const MONTH_LENGTH = 'yyyy-mm'.length;

export interface Installation {
  readonly url: string;
  /** The operator's key. */
  readonly key: string;
  /** Receives webhooks. */
  readonly hookUrl: string;
  readonly withComputers: boolean;
}

export interface Tenant {
  readonly id: string;
  readonly key: string;
  readonly ids: Readonly<Record<Kind, readonly string[]>>;
  readonly month: string;
  /** The signed address of its video. */
  readonly contentUrl: string;
  /** The command that runs in its first computer is still followed. */
  isCommandRunning(): boolean;
  /** Ends the command's stream. */
  close(): void;
}

type Operated = Pick<Installation, 'url' | 'key'>;

/** Sends JSON as `key`, and returns the answer's JSON. */
export async function callAs<T>(
  { url }: Pick<Installation, 'url'>,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.status, `${method} ${path}: ${text}`).toBeLessThan(300);
  return JSON.parse(text) as T;
}

export function makeOrg(at: Operated, name: string): Promise<CreatedOrg> {
  return callAs<CreatedOrg>(at, at.key, 'POST', '/v1/orgs', { name });
}

export function makeKey(
  at: Operated,
  org: string,
  permissions: readonly Permission[],
  more: object = {},
): Promise<CreatedKey> {
  const body = { name: 'k', permissions, ...more };
  return callAs<CreatedKey>(at, at.key, 'POST', `/v1/orgs/${org}/keys`, body);
}

type Identified = { id: string };
type Page<T = Identified> = { data: T[] };

/** Makes an org with one of everything; of its two computers, one runs a command and one is stopped. */
export async function makeTenant(at: Installation, name: string, model: string): Promise<Tenant> {
  const { id: org, key } = await makeOrg(at, name);
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(at, key, method, path, body);
  const make = async (path: string, body: object) => (await call<Identified>('POST', path, body)).id;
  const webhook = await make('/v1/webhooks', { url: at.hookUrl, events: ['video.completed'] });
  const [file, video, made, credit, request, computers] = await Promise.all([
    storeFile(at, key, `of ${name}`),
    make('/v1/videos/generations', { model: 'local/video', prompt: `of ${name}`, duration: 1 }),
    make('/v1/keys', { name: `of ${name}`, permissions: ['usage:read'] }),
    callAs<Identified>(at, at.key, 'POST', `/v1/orgs/${org}/credits`, { amount: 1, reason: `of ${name}` }),
    callModel(at, key, model),
    at.withComputers ? makeComputers(at, key, `of ${name}`) : null,
  ]);
  await call('POST', `/v1/webhooks/${webhook}/test`);
  type Delivery = { event_id: string; event_type: string; delivered: boolean };
  const delivery = await vi.waitFor(async () => {
    const { data } = await call<Page<Delivery>>('GET', `/v1/webhooks/${webhook}/deliveries`);
    const of = (type: string) => data.find((one) => one.event_type === type && one.delivered);
    expect(of('video.completed')).toBeDefined(); // the last event that is sent
    return of('webhook.test')?.event_id as string;
  }, BOOKED_MS_MAX);
  const month = new Date().toISOString().slice(0, MONTH_LENGTH);
  const line = await vi.waitFor(async () => {
    await call('GET', `/v1/logs/${request}`);
    const { lines } = await call<{ lines: { id: string; model: string | null }[] }>(
      'GET',
      `/v1/statements/${month}`,
    );
    return lines.find((one) => one.model === model)?.id as string;
  }, BOOKED_MS_MAX);
  const contentUrl = await vi.waitFor(async () => {
    const { videos } = await call<{ videos?: { url: string }[] }>('GET', `/v1/videos/${video}`);
    return (videos as { url: string }[])[0]?.url as string;
  }, BOOKED_MS_MAX);
  return {
    ...{ id: org, key, month, contentUrl },
    ids: {
      ...{ org: [org], key: [made], file: [file], webhook: [webhook], delivery: [delivery] },
      ...{ video: [video], call: [request], credit: [credit.id], booking: [request], line: [line] },
      ...{ change: [`${made}:created`] },
      ...{ computer: computers?.ids ?? [`cmp_of${name}`], exec: [computers?.exec ?? `req_of${name}`] },
    },
    isCommandRunning: computers?.isRunning ?? (() => true),
    close: computers?.close ?? (() => {}),
  };
}

async function storeFile({ url }: Installation, key: string, content: string): Promise<string> {
  const body = new FormData();
  body.append('file', new Blob([content]), 'own.txt');
  const headers = { authorization: `Bearer ${key}` };
  const stored = await fetch(`${url}/v1/files`, { method: 'POST', headers, body });
  return ((await stored.json()) as Identified).id;
}

/** Returns the id of the call. */
async function callModel({ url }: Installation, key: string, model: string): Promise<string> {
  const [path, input] = model.endsWith('/embed')
    ? ['/v1/embeddings', { input: 'x' }]
    : ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] }];
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...input }),
  });
  expect(answer.status, await answer.text()).toBe(200);
  return answer.headers.get('x-request-id') as string;
}

async function makeComputers(at: Installation, key: string, content: string) {
  const { id: busy } = await firstComputer({ url: at.url, key });
  const { id: stopped } = await firstComputer({ url: at.url, key });
  await callAs(at, key, 'POST', `/v1/computers/${stopped}/stop`);
  const authorization = `Bearer ${key}`;
  const files = `${at.url}/v1/computers/${busy}/files?path=own.txt`;
  const written = await fetch(files, { method: 'PUT', headers: { authorization }, body: content });
  expect(written.status).toBe(200);
  const gone = new AbortController();
  const stream = await fetch(`${at.url}/v1/computers/${busy}/exec`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ command: 'sleep 3600', timeout: 3_600, stream: true }), // longer than any test
    signal: gone.signal,
  });
  const events = serverEvents(stream, execEvent);
  const { value: started } = await events.next();
  if (started?.type !== 'started') throw new Error(`the command did not start: ${JSON.stringify(started)}`);
  let isRunning = true;
  const end = events.next().finally(() => {
    isRunning = false;
  });
  end.catch(() => {});
  return {
    ids: [busy, stopped],
    exec: started.exec_id,
    isRunning: () => isRunning,
    close: () => gone.abort(),
  };
}
