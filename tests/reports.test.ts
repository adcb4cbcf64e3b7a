// Usage, Logs, refunds and statements over HTTP, on the full stack: what a finance department needs.
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { untilBooked } from './__fixtures__/until-booked.ts';

let upstream: Upstream;
let stack: TestStack;
const calls: { id: string; cost: number }[] = [];
const CALLS = 6;
/** The month of the calls. */
let month: string;

beforeAll(async () => {
  upstream = await startUpstream();
  const models = [chatModel('acme/plain', upstream.url, 'plain')];
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url, models }) },
  });
  await untilMidnightIsFar();
  month = new Date().toISOString().slice(0, 7);
  for (let i = 0; i < CALLS; i += 1) {
    const response = await get('/v1/chat/completions', {
      method: 'POST',
      body: { model: 'acme/plain', messages: [{ role: 'user', content: 'Hello!' }] },
    });
    const { usage } = (await response.json()) as { usage: { cost: number } };
    calls.push({ id: response.headers.get('x-request-id') ?? '', cost: usage.cost });
  }
  await untilBooked(stack.url, stack.key);
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

interface Ask {
  method: string;
  body: unknown;
  headers: Record<string, string>;
}

function get(path: string, { method = 'GET', body, headers = {} }: Partial<Ask> = {}): Promise<Response> {
  return fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

interface Rows {
  total: { cost: number; calls: number };
  data: { id: string; group: string | null; cost: number; event: string; amount: number; month: string }[];
  next_cursor: string | null;
}
interface Statement {
  total: number;
  refunds: number;
  closing_balance: number;
  lines: { id: string; kind: string; model: string | null; amount: number; rates: unknown[] }[];
}
const json = async <T = Rows>(path: string, ask?: Partial<Ask>) => (await (await get(path, ask)).json()) as T;
const nanos = (dollars: number) => Math.round(dollars * 1e9);
const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + nanos(amount), 0);

test('usage by status and by days of a named zone equals the costs that the calls stated', async () => {
  const said = sum(calls.map(({ cost }) => cost));
  const byStatus = await json('/v1/usage?group_by=status');
  expect(byStatus.data).toMatchObject([{ group: 'ok', calls: CALLS }]);
  expect(nanos(byStatus.total.cost)).toBe(said);
  const days = await json('/v1/usage?interval=day&tz=Asia/Kathmandu&model=acme/plain');
  expect(sum(days.data.map(({ cost }) => cost))).toBe(said);
  const refused = await json<{ error: { param: string } }>('/v1/usage?tz=Mars/Olympus');
  expect(refused.error.param).toBe('tz');
});

test('usage and logs come as CSV and NDJSON, and are found by what they cost', async () => {
  const usage = await get('/v1/usage?group_by=model&format=csv');
  expect(usage.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect((await usage.text()).split('\r\n')[0]).toMatch(/^from,group,calls,cost,input_tokens/);
  const logs = await get('/v1/logs?cost_min=0.000000001', { headers: { accept: 'application/x-ndjson' } });
  const lines = (await logs.text()).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { id: string }).id).sort()).toEqual(
    calls.map(({ id }) => id).sort(),
  );
  expect((await json(`/v1/logs?request_id=${calls[0]?.id}`)).data).toHaveLength(1);
});

test('a refund under an Idempotency-Key is made once, never over the charge, and shows everywhere', async () => {
  const [call] = calls;
  const before = await json<Statement>(`/v1/statements/${month}`);
  const ask = {
    method: 'POST',
    headers: { 'idempotency-key': 'refund-1' },
    body: { request_id: call?.id, reason: 'test', reference: 'ticket 1' },
  };
  const first = await get('/v1/refunds', ask);
  expect(first.status).toBe(201);
  const again = await get('/v1/refunds', ask);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(await again.json()).toEqual(await first.json());
  const more = await get('/v1/refunds', { ...ask, headers: {} });
  expect([more.status, ((await more.json()) as { error: { code: string } }).error.code]).toEqual([
    ...[409, 'refund_exceeds_charge'],
  ]);
  const unknown = await get('/v1/refunds', { method: 'POST', body: { request_id: 'req_x', reason: 'x' } });
  expect(unknown.status).toBe(404);
  const both = await get('/v1/refunds', { method: 'POST', body: { reason: 'x' } });
  expect(both.status).toBe(400);
  const left = sum(calls.slice(1).map(({ cost }) => cost));
  await untilBooked(stack.url, stack.key);
  expect(nanos((await json('/v1/usage')).total.cost)).toBe(left);
  expect((await json(`/v1/logs?request_id=${call?.id}`)).data).toHaveLength(2);
  const after = await json<Statement>(`/v1/statements/${month}`);
  expect(nanos(after.total)).toBe(left);
  expect(nanos(after.closing_balance) - nanos(before.closing_balance)).toBe(nanos(call?.cost ?? 0));
});

test('a statement adds up, each line to its events, and can be read by people and machines', async () => {
  const statement = await json<Statement>(`/v1/statements/${month}`);
  expect(sum(statement.lines.map(({ amount }) => amount))).toBe(nanos(statement.total));
  expect(statement.lines.map(({ kind }) => kind)).toEqual(['usage', 'refund']);
  expect(statement.lines[0]?.rates).not.toEqual([]);
  const seen: string[] = [];
  for (const { id, amount } of statement.lines) {
    let total = 0;
    let cursor = '';
    do {
      const page = await json(`/v1/statements/${month}/lines/${id}?limit=4${cursor}`);
      total += sum(page.data.map((row) => row.amount));
      seen.push(...page.data.map(({ event }) => event));
      cursor = page.next_cursor === null ? '' : `&after=${page.next_cursor}`;
    } while (cursor !== '');
    expect(total).toBe(nanos(amount));
  }
  expect(new Set(seen).size).toBe(CALLS + 1);
  expect((await json('/v1/statements')).data.map((one) => one.month)).toEqual([month]);

  const csv = await (await get(`/v1/statements/${month}?format=csv`)).text();
  expect(csv.trimEnd().split('\r\n')).toHaveLength(1 + 2 + statement.lines.length);
  const page = await get(`/v1/statements/${month}?format=html`);
  expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  const html = await page.text();
  expect(html).toContain('acme/plain');
  expect(html).not.toContain('<script');
  const later = await get('/v1/statements/2099-01');
  expect(later.status).toBe(400);
});

test('tags divide the bill exactly; Logs and events carry them, the client’s request id and its trace', async () => {
  const ask = (headers: Record<string, string>, model = 'acme/plain') =>
    get('/v1/chat/completions', {
      ...{ method: 'POST', headers },
      body: { model, messages: [{ role: 'user', content: 'Hello!' }] },
    });
  const costOf = async (answer: Response) => {
    const { usage } = (await answer.json()) as { usage: { cost: number } };
    return { id: answer.headers.get('x-request-id') ?? '', cost: usage.cost };
  };
  const made = await json<{ key: string; metadata: object }>('/v1/keys', {
    method: 'POST',
    body: { name: 'search', permissions: ['models:write'], metadata: { team: 'search' } },
  });
  expect(made.metadata).toEqual({ team: 'search' });
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const tagged = await costOf(
    await ask({
      ...{ authorization: `Bearer ${made.key}`, 'x-service-tags': 'user=42,team=other' },
      ...{ 'x-client-request-id': 'mine-1', traceparent },
    }),
  );
  const other = await costOf(await ask({ 'x-service-tags': 'team=ads' }));
  const refunded = await costOf(await ask({ 'x-service-tags': 'team=ads' }));
  const body = { request_id: refunded.id, reason: 'of no use' };
  await untilBooked(stack.url, stack.key);
  expect((await get('/v1/refunds', { method: 'POST', body })).status).toBe(201);
  const refused = await ask({ 'x-service-tags': 'team=search' }, 'acme/none');
  expect(refused.status).toBe(404);
  const invalid = await ask({ 'x-service-tags': 'team' });
  expect(await invalid.json()).toMatchObject({ error: { code: 'invalid_request', param: 'X-Service-Tags' } });

  await untilBooked(stack.url, stack.key);
  const ungrouped = await get('/v1/usage?group_by=tag:a%20team');
  expect(await ungrouped.text()).toContain('group_by: must be one of key,');
  const byTeam = await json('/v1/usage?group_by=tag:team');
  const rows = new Map(byTeam.data.map(({ group, cost }) => [group, nanos(cost)]));
  expect(rows.get('search')).toBe(nanos(tagged.cost));
  expect(rows.get('ads')).toBe(nanos(other.cost));
  expect([...rows.keys()]).toHaveLength(3);
  expect(sum(byTeam.data.map(({ cost }) => cost))).toBe(nanos((await json('/v1/usage')).total.cost));

  const ofSearch = async () => (await json('/v1/logs?tag=team:search')).data;
  await expect.poll(ofSearch).toHaveLength(2); // refused calls are booked apart
  const found = await ofSearch();
  expect(found.map(({ id }) => id)).toEqual([refused.headers.get('x-request-id'), tagged.id]);
  expect(found[1]).toMatchObject({
    ...{ tags: { team: 'search', user: '42' }, client_request_id: 'mine-1', traceparent },
  });
  expect((await json('/v1/logs?tag=team:ads')).data).toHaveLength(3);
  expect((await json('/v1/logs?client_request_id=mine-1')).data.map(({ id }) => id)).toEqual([tagged.id]);
  const stream = await get(`/v1/events?since=0&type=call.completed`);
  const event = await lineWith(stream, tagged.id);
  expect(JSON.parse(event.slice('data: '.length))).toMatchObject({
    data: { tags: { team: 'search', user: '42' }, client_request_id: 'mine-1', traceparent },
  });
});

/** The first line of data of a stream that contains the text; ends the stream. */
async function lineWith(stream: Response, text: string): Promise<string> {
  const decoder = new TextDecoder();
  let read = '';
  for await (const piece of stream.body ?? []) {
    read += decoder.decode(piece, { stream: true });
    const line = read
      .split('\n')
      .slice(0, -1)
      .find((one) => one.startsWith('data: ') && one.includes(text));
    if (line) return line;
  }
  throw new Error(`the stream ended without ${text}`);
}
