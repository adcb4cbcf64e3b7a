// Exports of Logs with a fake billing: pages, their end, and what a client sees of an error.
import { serve } from '@switchyard/bus';
import { LIST_LIMIT_MAX, type LogEntry, type LogsQuery, pageOf, ServiceError } from '@switchyard/contracts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;
let key: string;
let asked: LogsQuery[] = [];
let answer: (query: LogsQuery) => { data: LogEntry[]; next_cursor: string | null };

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey();
  const host = await serve(edge.bus, { name: 'billing', version: '0.0.0', description: 'a test' });
  host.handle('logs.list', async ({ query }) => {
    asked.push(query);
    const { data, next_cursor } = answer(query);
    return { ...pageOf(data, next_cursor !== null, ({ id }) => id), next_cursor };
  });
});
afterAll(() => edge.stop());
beforeEach(() => {
  asked = [];
});

function entry(id: string, more: Partial<LogEntry> = {}): LogEntry {
  return {
    ...{ object: 'log', id, at: '2026-11-20T10:00:00.000Z', kind: 'call', status: 'ok', http_status: 200 },
    ...{ error_code: null, key_id: 'key_1', method: 'POST', path: '/v1/rerank', type: 'rerank' },
    dialect: null,
    ...{ requested_model: 'a/b', model: 'a/b', maker: 'a', computer_id: null, stream: false, cost: 1e-9 },
    ...{ basis: 'upstream', quantities: { searches: 1 }, latency_ms: 1.5, first_byte_ms: null },
    ...{ attempts: [], tags: {}, client_request_id: null, traceparent: null, correction: null, ...more },
  };
}

const get = (query: string, headers: Record<string, string> = {}) =>
  fetch(`${edge.url}/v1/logs?${query}`, { headers: { authorization: `Bearer ${key}`, ...headers } });

test('an export has every page once, in order, with the filters of the request', async () => {
  const pages = ['first', 'second', 'third'];
  answer = ({ after }) => {
    const page = after === undefined ? 0 : Number(after);
    return { data: [entry(pages[page] ?? '')], next_cursor: page === 2 ? null : String(page + 1) };
  };
  const response = await get('format=ndjson&model=a/b');
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
  const lines = (await response.text()).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(pages);
  expect(asked).toEqual([
    { model: 'a/b', limit: LIST_LIMIT_MAX },
    { model: 'a/b', limit: LIST_LIMIT_MAX, after: '1' },
    { model: 'a/b', limit: LIST_LIMIT_MAX, after: '2' },
  ]);
});

test('CSV has one header line, plain numbers, and no formulas of callers', async () => {
  answer = () => ({
    data: [
      entry('req_1', { requested_model: '=HYPERLINK("x")' }),
      entry('req_2', { cost: -0.5, tags: { team: 'a', user: '42' } }),
    ],
    next_cursor: null,
  });
  const response = await get('', { accept: 'text/csv' });
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="logs.csv"');
  const [head, first, second] = (await response.text()).split('\r\n');
  expect(head).toMatch(/^id,at,kind,status,/);
  expect(first).toContain(`"'=HYPERLINK(""x"")"`);
  expect(first).toContain(',0.000000001,upstream,');
  expect(second).toContain(',-0.5,upstream,');
  expect(second).toContain(',"team=a,user=42",');
});

test('a limit bounds the rows that are requested, and JSON stays unchanged', async () => {
  answer = ({ limit = 0 }) => ({
    data: Array.from({ length: limit }, (_, i) => entry(`req_${i}`)),
    next_cursor: 'more',
  });
  expect((await (await get('format=ndjson&limit=7')).text()).trimEnd().split('\n')).toHaveLength(7);
  expect(asked).toEqual([{ limit: 7 }]);
  expect(await (await get('limit=2', { accept: '*/*' })).json()).toMatchObject({ next_cursor: 'more' });
  const { error } = (await (await get('limit=10001&format=csv')).json()) as { error: { param: string } };
  expect(error.param).toBe('limit');
});

test('an error before the first row is an error answer; later the answer is cut and never looks whole', async () => {
  answer = () => {
    throw new ServiceError('invalid_request', 'cursor: is none', { param: 'cursor' });
  };
  const refused = await get('format=csv&cursor=x');
  expect([refused.status, refused.headers.get('content-type')]).toEqual([
    400,
    'application/json; charset=utf-8',
  ]);
  answer = ({ after }) => {
    if (after !== undefined) throw new ServiceError('service_unavailable', 'unavailable');
    return { data: [entry('req_1')], next_cursor: 'on' };
  };
  await expect(get('format=csv').then((response) => response.text())).rejects.toThrow();
});

test('HEAD answers with the headers and makes no request', async () => {
  const response = await fetch(`${edge.url}/v1/logs?format=csv`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${key}` },
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(asked).toEqual([]);
});

test('an export is cut off when its org is suspended', async () => {
  answer = () => ({ data: [entry('req_1')], next_cursor: 'on' });
  const org = 'org_exports';
  const secret = await edge.addKey(undefined, { org });
  const text = (await get('format=csv', { authorization: `Bearer ${secret}` })).text();
  const cut = expect(text).rejects.toThrow();
  await edge.orgs.change(org, (known) => known && { ...known.value, suspended_at: known.value.created_at });
  await cut;
});
