// Every endpoint of the OpenAPI document, and /mcp, against every caller that may not use it: without a key, with a key
// that is malformed, expired, revoked or lacks a permission, of a suspended org, or with ids of another org.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { allows, type CreatedKey, type SessionObject, TENANT_PERMISSIONS } from '@switchyard/contracts';
import { docker, startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Answer,
  type Asked,
  ask,
  codeOf,
  type Endpoint,
  endpointsOf,
  type Slot,
} from './__fixtures__/ask-endpoint.ts';
import { KINDS, type Kind, MAY_CALL } from './__fixtures__/endpoints.ts';
import { SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { callAs, type Installation, makeKey, makeTenant, type Tenant } from './__fixtures__/tenants.ts';

type Headers = Readonly<Record<string, string>>;

const tokenOf =
  (token: string): NonNullable<Asked['value']> =>
  ({ name }) =>
    name === 'token' ? token : undefined;

/** Headers that differ between any two answers. */
const CHANGING_HEADERS =
  /^(date|x-request-id|ratelimit.*|x-ratelimit.*|content-length|content-security-policy)$/;
const TIMES = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const REQUEST_IDS = /req_[\w-]+/g;
/** Two answers differ until both include events in between. */
const SAME_MS_MAX = 60_000;
/** A key cannot expire in the past, where its change may arrive late. */
const KEY_LIFE_MS = 10_000;
/** They answer with figures of the moment, with secrets or streams, or end what they answer about. */
const NOT_COMPARED = ['getComputerMetrics', 'streamEvents', 'openTerminal', 'getComputerPort'];
/** A running computer is charged meanwhile, and keys are made. */
const OF_MONEY = [
  'listAuditLog',
  'getUsage',
  'getAccount',
  'getOwnKey',
  'auditAccount',
  'listLogs',
  'getStatement',
  'listStatements',
];

const withComputers = (await docker()) !== undefined;
let stack: TestStack;
let at: Installation;
/** Receives webhooks. */
let receiver: Server;
let endpoints: readonly Endpoint[];
let a: Tenant;
let b: Tenant;

beforeAll(async () => {
  receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const computers = withComputers ? { SWITCHYARD_COMPUTERS: 'on' } : {};
  stack = await startStack({ env: { ...computers, SWITCHYARD_EGRESS_ALLOW: host } });
  at = { url: stack.url, key: stack.key, hookUrl: `http://${host}/`, withComputers };
  const document = await fetch(`${stack.url}/v1/openapi.json`);
  endpoints = endpointsOf((await document.json()) as Parameters<typeof endpointsOf>[0]);
  [a, b] = await Promise.all([makeTenant(at, 'A', 'local/chat'), makeTenant(at, 'B', 'local/embed')]);
}, SET_UP_MS_MAX);
afterAll(async () => {
  for (const tenant of [a, b]) tenant?.close();
  await stack?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });
const guarded = () => endpoints.filter(({ who }) => who !== 'public');
/** Things of a tenant, for the places of a request. */
const thingsOf =
  (tenant: Tenant, endpoint: Endpoint): NonNullable<Asked['value']> =>
  ({ where, name }) => {
    if (name === 'month') return tenant.month;
    if (where === 'query' || name === 'event') return undefined; // a refund names a call or an event
    const slot = endpoint.slots.find((one) => one.where === where && one.name === name);
    return slot && tenant.ids[slot.kind][0];
  };

describe('the table of endpoints', () => {
  test('has every operation with the permissions of the document', () => {
    const described = Object.fromEntries(endpoints.map(({ name, who }) => [name, who]));
    expect(described).toEqual(MAY_CALL);
  });

  test('knows what every parameter names, and has an example of every JSON body', () => {
    expect(endpoints.flatMap(({ name, unknown }) => unknown.map((one) => `${name}: ${one}`))).toEqual([]);
    const json = endpoints.filter(({ body }) => body?.type === 'application/json');
    expect(json.filter(({ body }) => body?.example === undefined).map(({ name }) => name)).toEqual([]);
  });
});

/** What the guarded endpoints answer to these headers: each kind of answer once. */
async function refusals(headers: Headers, upgrade = true): Promise<string[]> {
  const requests = guarded().flatMap((endpoint) => {
    const value = thingsOf(b, endpoint);
    const usual = endpoint.name === 'openTerminal' && upgrade ? [] : [{}];
    const upgraded = endpoint.upgrades && upgrade ? [{ upgrade: true }] : [];
    return [...usual, ...upgraded].map((more) => ask(endpoint, { url: stack.url, headers, value, ...more }));
  });
  return [...new Set((await Promise.all(requests)).map(codeOf))];
}

/** Credentials that act as a key. */
interface Carriers {
  readonly key: string;
  /** The cookie of a session, with its CSRF token. */
  readonly session: Headers;
  /** Tokens of links to a port and to a terminal of a computer. */
  readonly links: readonly string[];
  readonly signInToken: string;
}

async function carriersOf(key: string, computer: string): Promise<Carriers> {
  const signedIn = await fetch(`${stack.url}/v1/session`, { method: 'POST', headers: bearer(key) });
  const { csrf_token } = (await signedIn.json()) as SessionObject;
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] as string;
  const { url } = await callAs<{ url: string }>(stack, key, 'POST', '/v1/session/links');
  const link = async (body: object) => {
    const made = await callAs<{ url: string }>(stack, key, 'POST', `/v1/computers/${computer}/links`, body);
    return new URL(made.url).pathname.split('/')[3] as string;
  };
  return {
    key,
    session: { cookie, 'x-switchyard-csrf': csrf_token },
    links: withComputers ? await Promise.all([link({ port: 8000 }), link({})]) : [],
    signInToken: new URL(url).searchParams.get('token') as string,
  };
}

/** What the endpoints without a guard answer to carriers of a key: each kind of answer once. */
async function publicRefusals({ key, session, links, signInToken }: Carriers): Promise<string[]> {
  const requests: Record<string, (endpoint: Endpoint) => Promise<Answer>[]> = {
    createSession: (one) => [
      ask(one, { url: stack.url, headers: bearer(key) }),
      ask({ ...one, body: { type: 'application/json', example: { token: signInToken } } }, stack),
    ],
    getSession: (one) => [ask(one, { url: stack.url, headers: session })],
    deleteSession: () => [], // a session may end itself
    getVideoContent: () => [], // an address of the org, not of a key
  };
  const byLinks = (one: Endpoint) =>
    links.flatMap((token) =>
      (one.upgrades ? [false, true] : [false]).map((upgrade) =>
        ask(one, { url: stack.url, value: tokenOf(token), upgrade }),
      ),
    );
  const answers = endpoints
    .filter(({ who }) => who === 'public')
    .flatMap((one) => (one.path.startsWith('/v1/links/') ? byLinks(one) : (requests[one.name]?.(one) as [])));
  return [...new Set((await Promise.all(answers)).map(codeOf))];
}

const statusOf = async (key: string) =>
  (await fetch(`${stack.url}/v1/models`, { headers: bearer(key) })).status;

describe('every endpoint refuses', () => {
  test('no key, a malformed one and an unknown one, also to HEAD', async () => {
    expect(guarded().length).toBeGreaterThan(80);
    expect(await refusals({})).toEqual(['401 missing_api_key']);
    expect(await refusals({ authorization: 'Basic abc' })).toEqual(['401 missing_api_key']);
    expect(await refusals(bearer('x'.repeat(600)))).toEqual(['401 invalid_api_key']);
    expect(await refusals(bearer('sy_unknown'))).toEqual(['401 invalid_api_key']);
    const heads = guarded().filter(({ method }) => method === 'GET');
    const answers = await Promise.all(heads.map((one) => ask(one, { url: stack.url, method: 'HEAD' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  });

  test('an expired key, and its sessions, links and sign-in links', async () => {
    const { id, key } = await makeKey(at, a.id, TENANT_PERMISSIONS);
    const carriers = await carriersOf(key, a.ids.computer[0] as string);
    expect(await statusOf(key)).toBe(200);
    const expires_at = new Date(Date.now() + KEY_LIFE_MS).toISOString();
    await callAs(stack, a.key, 'PATCH', `/v1/keys/${id}`, { expires_at });
    await expect.poll(() => statusOf(key)).toBe(401);
    await expectRefused(carriers, '401 expired_api_key');
  });

  test('a revoked key, and its sessions and links', async () => {
    const { id, key } = await makeKey(at, a.id, TENANT_PERMISSIONS);
    const carriers = await carriersOf(key, a.ids.computer[0] as string);
    await callAs(stack, a.key, 'DELETE', `/v1/keys/${id}`);
    await expect.poll(() => statusOf(key)).toBe(401);
    await expectRefused(carriers, '401 invalid_api_key');
  });

  test('a session without its CSRF token, and a cookie that was changed', async () => {
    const { session } = await carriersOf(b.key, b.ids.computer[0] as string);
    const { session: other } = await carriersOf(a.key, a.ids.computer[0] as string);
    const { cookie = '' } = session;
    expect(await refusals({ cookie }, false)).toEqual(['403 csrf_token_invalid']);
    expect(await refusals({ ...other, cookie }, false)).toEqual(['403 csrf_token_invalid']);
    expect(await refusals({ ...session, cookie: `${cookie}x` }, false)).toEqual(['401 missing_api_key']);
  });

  test('a key that has every permission but one of those it needs', async () => {
    const without = new Map<string, CreatedKey>();
    for (const needed of TENANT_PERMISSIONS)
      without.set(
        needed,
        await makeKey(
          at,
          b.id,
          TENANT_PERMISSIONS.filter((one) => !allows([one], needed)),
        ),
      );
    const cases = guarded()
      .filter(({ who }) => who !== 'any')
      .flatMap((endpoint) => endpoint.who.split(' ').map((needed) => ({ endpoint, needed })));
    expect(cases.length).toBeGreaterThan(80);
    for (const { endpoint, needed } of cases) {
      const { key } = needed === 'operator' ? b : (without.get(needed) as CreatedKey);
      const value = thingsOf(b, endpoint);
      const asked = { url: stack.url, headers: bearer(key), value };
      const answer = await ask(endpoint, { ...asked, upgrade: endpoint.name === 'openTerminal' });
      expect(codeOf(answer), `${endpoint.name} without ${needed}`).toBe('403 permission_denied');
      expect(answer.text).toContain(needed);
    }
  });

  test.runIf(withComputers)('a link whose key lost the permission', async () => {
    const { id, key } = await makeKey(at, a.id, TENANT_PERMISSIONS);
    const { links } = await carriersOf(key, a.ids.computer[0] as string);
    await callAs(stack, a.key, 'PATCH', `/v1/keys/${id}`, { permissions: ['computers:read'] });
    const port = endpoints.find(({ name }) => name === 'putComputerLink') as Endpoint;
    const asked = { url: stack.url, value: tokenOf(links[0] as string) };
    await expect.poll(async () => codeOf(await ask(port, asked))).toBe('403 permission_denied');
  });
});

async function expectRefused(carriers: Carriers, refusal: string): Promise<void> {
  expect(await refusals(bearer(carriers.key))).toEqual([refusal]);
  expect(await refusals(carriers.session, false)).toEqual([refusal]);
  expect(await publicRefusals(carriers)).toEqual([refusal]);
}

describe('another org', () => {
  let lookout: { a: EventLookout; b: EventLookout };
  let before: Record<string, string>;
  beforeAll(async () => {
    lookout = { a: await watchEvents(a.key), b: await watchEvents(b.key) };
    before = await vi.waitFor(async () => {
      const read = await readAll(b);
      expect(await readAll(b)).toEqual(read);
      return read;
    }, SAME_MS_MAX);
  });
  afterAll(() => {
    for (const one of Object.values(lookout ?? {})) one.stop();
  });

  test('shows nothing of itself in what an org reads', async () => {
    const ofB = [b.id, b.key, 'of B', ...Object.values(b.ids).flat()];
    const read = await readAll(a, OF_MONEY);
    expect(Object.keys(read).length).toBeGreaterThan(25);
    for (const [name, text] of Object.entries(read))
      for (const one of ofB) expect(text, `${name} shows ${one}`).not.toContain(one);
  });

  test('answers each of its ids in a path, query or body like an unknown id', async () => {
    const cases = guarded().flatMap((endpoint) => endpoint.slots.map((slot) => ({ endpoint, slot })));
    // Queries first: later, A's own Logs have refused calls that name things of B.
    const inOrder = cases.sort((x, y) => Number(y.slot.where === 'query') - Number(x.slot.where === 'query'));
    for (const { endpoint, slot } of inOrder)
      for (const id of b.ids[slot.kind]) {
        const shown = `${endpoint.name} ${slot.where} ${slot.name}=${id}`;
        // Repeats if A's own data changed in between: a new call in Logs, another second in a signed address.
        const theirs = await vi.waitFor(async () => {
          const answer = await askWithId(endpoint, slot, id);
          expect(answer, shown).toEqual(await askWithId(endpoint, slot, unknownLike(id)));
          return answer;
        }, SAME_MS_MAX);
        // A line that the statement lacks answers like one without rows.
        const least = slot.where === 'query' || slot.kind === 'line' ? 200 : 400;
        expect(theirs.status, shown).toBeGreaterThanOrEqual(least);
      }
    const tried = new Set(cases.map(({ slot }) => slot.kind));
    expect([...tried].sort()).toEqual([...KINDS].sort());
  });

  test('cannot be reached by MCP tools', async () => {
    const { tools } = await mcp<{ tools: Tool[] }>(a.key, 'tools/list', {});
    const kinds: Record<string, Kind> = { computer_id: 'computer', file_id: 'file', video_id: 'video' };
    let tried = 0;
    for (const { name, inputSchema } of tools)
      for (const member of Object.keys(inputSchema.properties).filter((one) => /id$/.test(one))) {
        const kind = kinds[member] as Kind;
        expect(kind, `${name}: ${member}`).toBeDefined();
        const use = async (id: string) => {
          const own = (one: string) => (kinds[one] ? a.ids[kinds[one]][0] : undefined);
          const input = argumentsOf(inputSchema, (one) => (one === member ? id : own(one)));
          const result = await mcp<{ isError?: boolean }>(a.key, 'tools/call', { name, arguments: input });
          expect(result.isError, `${name} ${member}`).toBe(true);
          return JSON.stringify(result).replaceAll(id, '<id>').replaceAll(REQUEST_IDS, '<request>');
        };
        for (const id of b.ids[kind])
          expect(await use(id), `${name} ${member}`).toBe(await use(unknownLike(id)));
        tried += 1;
      }
    expect(tried).toBeGreaterThan(10);
  });

  test('cannot be reached by a signed address with another id or org', async () => {
    const code = async (url: URL) => {
      const answer = await fetch(url);
      return codeOf({ status: answer.status, headers: {}, text: await answer.text() });
    };
    const forgedOf = (token: string, change: object) => {
      const [payload = '', signature = ''] = token.split('.');
      const content = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
      return `${Buffer.from(JSON.stringify({ ...content, ...change })).toString('base64url')}.${signature}`;
    };
    const forge = (url: URL, change: object) =>
      url.searchParams.set('token', forgedOf(url.searchParams.get('token') ?? '', change));
    const [own, others] = [a.ids.video[0] as string, b.ids.video[0] as string];
    for (const change of [
      (url: URL) => (url.pathname = url.pathname.replace(own, others)),
      (url: URL) => forge(url, { org: b.id }),
      (url: URL) => forge(url, { expires: 9_999_999_999_999 }),
      (url: URL) => {
        url.pathname = url.pathname.replace(own, others);
        forge(url, { id: others });
      },
    ]) {
      const url = new URL(a.contentUrl);
      change(url);
      expect(await code(url)).toBe('403 url_not_valid');
    }
    if (!withComputers) return;
    for (const token of (await carriersOf(a.key, a.ids.computer[0] as string)).links) {
      const forged = forgedOf(token, { computer: b.ids.computer[0] });
      for (const one of endpoints.filter(({ path }) => path.startsWith('/v1/links/')))
        for (const upgrade of one.upgrades ? [false, true] : [false]) {
          const answer = await ask(one, { url: stack.url, value: tokenOf(forged), upgrade });
          expect(codeOf(answer), one.name).toBe('403 url_not_valid');
        }
    }
  });

  test('keeps its answers from an org that uses the same Idempotency-Key', async () => {
    const make = async (key: string) => {
      const headers = { ...bearer(key), 'content-type': 'application/json', 'idempotency-key': 'shared' };
      const body = JSON.stringify({ name: 'shared', permissions: ['usage:read'] });
      const answer = await fetch(`${stack.url}/v1/keys`, { method: 'POST', headers, body });
      const { id } = (await answer.json()) as CreatedKey;
      return { id, replayed: answer.headers.get('idempotent-replayed') };
    };
    const [first, own, again] = [await make(b.key), await make(a.key), await make(b.key)];
    expect(own.replayed).toBeNull();
    expect(own.id).not.toBe(first.id);
    expect(again).toEqual({ id: first.id, replayed: 'true' });
    await callAs(stack, b.key, 'DELETE', `/v1/keys/${first.id}`);
  });

  test('is unchanged, and neither org was charged or had anything started', async () => {
    await expect.poll(() => readAll(b)).toEqual(before);
    expect(b.isCommandRunning()).toBe(true);
    // Minutes of the computers that ran before, and the keys with the same Idempotency-Key.
    const ownDoing = ['computer.metered', 'key.created', 'key.revoked'];
    // Without an engine, B's own readings of a computer are refused.
    const ofB = withComputers ? ownDoing : [...ownDoing, 'call.refused'];
    expect(lookout.b.types().filter((type) => !ofB.includes(type))).toEqual([]);
    const others = lookout.a.types().filter((type) => !ownDoing.includes(type));
    expect([...new Set(others)]).toEqual(['call.refused']);
    expect(lookout.a.text().includes(b.id)).toBe(false);
  });
});

/** What A sees when one place of a request has this id, and the others name its own things. */
async function askWithId(endpoint: Endpoint, slot: Slot, id: string) {
  // In paths the operator may use the ids of all orgs.
  const { key } = endpoint.who === 'operator' && slot.where === 'body' ? stack : a;
  const own = thingsOf(a, endpoint);
  const value: Asked['value'] = (place) =>
    place.where === slot.where && place.name === slot.name ? id : own(place);
  const asked = { url: stack.url, headers: bearer(key), value };
  return shapeOf(await ask(endpoint, { ...asked, upgrade: endpoint.name === 'openTerminal' }), id);
}

/** All that a GET answers to a tenant about its own things, by operation. */
async function readAll(tenant: Tenant, also: readonly string[] = []): Promise<Record<string, string>> {
  const read = guarded().filter(
    ({ method, name, who }) =>
      method === 'GET' &&
      who !== 'operator' &&
      !NOT_COMPARED.includes(name) &&
      (!OF_MONEY.includes(name) || also.includes(name)),
  );
  const answers = await Promise.all(
    read.map(async (endpoint) => {
      const asked = { url: stack.url, headers: bearer(tenant.key), value: thingsOf(tenant, endpoint) };
      const { text } = await ask(endpoint, asked);
      // A computer hears of its command within seconds, and on a busy machine another minute of it passes.
      const passing = /"(idle_since|stops_at)":("[^"]*"|null)/g;
      const minutes = /^(getComputer|listComputers)$/.test(endpoint.name)
        ? /"(minutes|cost)":[\d.e-]+/g
        : passing;
      const steady = text
        .replaceAll(passing, '"$1"')
        .replaceAll(minutes, '"$1"')
        .replaceAll(/"request_id":"[^"]*"/g, '"request_id"');
      return [endpoint.name, steady.replaceAll(/"url":"[^"]*\/content\?token=[^"]*"/g, '"url"')] as const;
    }),
  );
  return Object.fromEntries(answers);
}

/**
 * An unused id in the form of another, next to it in lists, because ids begin with their time.
 * Its last characters stay: calls are numbered there, and the next number may be a call of A.
 */
function unknownLike(id: string): string {
  const changed = id.at(-3) === 'u' ? 'v' : 'u';
  return id.slice(0, -3) + changed + id.slice(-2);
}

/** What a client sees of an answer, except the id it sent. */
function shapeOf({ status, headers, text }: Answer, id: string) {
  const own = Object.entries(headers).filter(([name]) => !CHANGING_HEADERS.test(name));
  const neutral = text
    .replaceAll(id, '<id>')
    .replaceAll(REQUEST_IDS, '<request>')
    .replaceAll(TIMES, '<time>');
  return { status, headers: Object.fromEntries(own), text: neutral };
}

interface Tool {
  name: string;
  inputSchema: { properties: Record<string, { type?: string }>; required?: string[] };
}

/** Arguments that a tool accepts. */
function argumentsOf(
  { properties, required = [] }: Tool['inputSchema'],
  id: (name: string) => string | undefined,
) {
  const wanted = Object.entries(properties).filter(
    ([name]) => required.includes(name) || id(name) !== undefined,
  );
  return Object.fromEntries(
    wanted.map(([name, { type }]) => [name, id(name) ?? (type === 'integer' ? 1 : 'x')]),
  );
}

async function mcp<T>(key: string, method: string, params: object): Promise<T> {
  const answer = await fetch(`${stack.url}/mcp`, {
    method: 'POST',
    headers: {
      ...bearer(key),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const data = /^data: (.*)$/m.exec(await answer.text())?.[1] ?? '';
  return (JSON.parse(data) as { result: T }).result;
}

interface EventLookout {
  types(): string[];
  text(): string;
  stop(): void;
}

/** Follows the events of an org. */
async function watchEvents(key: string): Promise<EventLookout> {
  const stop = new AbortController();
  const stream = await fetch(`${stack.url}/v1/events`, { headers: bearer(key), signal: stop.signal });
  let text = '';
  const follow = async () => {
    for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
  };
  follow().catch(() => {});
  return {
    types: () => [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type as string),
    text: () => text,
    stop: () => stop.abort(),
  };
}

test('a suspended org is refused by every endpoint, link, session and signed address, until it is restored', async () => {
  const carriers = await carriersOf(b.key, b.ids.computer[0] as string);
  const video = async () => {
    const answer = await fetch(b.contentUrl);
    return codeOf({ status: answer.status, headers: {}, text: await answer.text() });
  };
  expect(await video()).toBe('200');
  await callAs(stack, stack.key, 'PATCH', `/v1/orgs/${b.id}`, { status: 'suspended' });
  await expect.poll(() => statusOf(b.key)).toBe(403);
  await expectRefused(carriers, '403 org_suspended');
  expect(await video()).toBe('403 org_suspended');
  await callAs(stack, stack.key, 'PATCH', `/v1/orgs/${b.id}`, { status: 'active' });
  await expect.poll(() => statusOf(b.key)).toBe(200);
  await expect.poll(video).toBe('200');
});
