// The billing guarantee: whichever part is killed with `kill -9`, every answered call is in the ledger exactly once at
// the cost reported to its caller, and no failed call is charged. Exception: at most one call per killed edge, handed
// to the kernel but not yet recorded (docs/decisions/2026-11-21-delivery-journal.md); its charge is voided.
import {
  chatModel,
  docker,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { watchAnswers } from '@switchyard/testing/openapi';
import { MongoClient } from 'mongodb';
import { Agent, fetch as undiciFetch } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const CALLS = 2_000;
const CONCURRENCY = 16;
/** One part is killed each time this many calls have ended. */
const CALLS_PER_KILL = 110;
const SETTLE_TIMEOUT_MS = 90_000;
/** How long a caller waits for the edge to return, and how often it checks. */
const EDGE_BACK_MS_MAX = 90_000;
const EDGE_LOOK_MS = 50;
const TEST_MS_MAX = 900_000;
/** A call that its edge could not record was answered, or seen by its caller, within this time around the kill. */
const AROUND_A_KILL_MS = 3_000;

interface AnsweredCall {
  requestId: string;
  nanos: bigint;
  /** `performance.now()` when the answer arrived. */
  at: number;
}

let upstream: Upstream;
let stack: TestStack;
let withComputers: boolean;
const agent = new Agent({ connections: CONCURRENCY, pipelining: 1 });
/** Checks that every answer matches the OpenAPI document, whatever is killed. */
const watch = watchAnswers(((url: string, init: object) =>
  undiciFetch(url, { ...init, dispatcher: agent })) as unknown as typeof fetch);

beforeAll(async () => {
  upstream = await startUpstream();
  const slow = (id: string, behaviour: string) => chatModel(`acme/${id}`, upstream.url, `${id}+${behaviour}`);
  const models = [slow('quick', 'latency-0'), slow('thinks', 'latency-40'), slow('talks', 'gap-3')];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  withComputers = (await docker()) !== undefined;
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog, ...(withComputers ? { SWITCHYARD_COMPUTERS: 'on' } : {}) },
  });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
  await agent.close();
});

const headers = () => ({ authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' });
const nanosOf = (dollars: number) => BigInt(Math.round(dollars * 1e9));

const KINDS = [
  {
    path: '/v1/chat/completions',
    body: { model: 'acme/quick', messages: [{ role: 'user', content: 'Hello!' }] },
  },
  {
    path: '/v1/chat/completions',
    body: { model: 'acme/thinks', messages: [{ role: 'user', content: 'Hello!' }] },
  },
  {
    path: '/v1/chat/completions',
    body: { model: 'acme/talks', stream: true, messages: [{ role: 'user', content: 'Hello!' }] },
  },
  { path: '/v1/embeddings', body: { model: 'acme/embed-1', input: 'Hello!' } },
];

/** Makes one call. Returns the reported cost, null after an error, or `refused` when no edge accepts connections. */
async function call(n: number): Promise<AnsweredCall | null | 'refused'> {
  const kind = KINDS[n % KINDS.length] as (typeof KINDS)[number];
  try {
    const init = { method: 'POST', headers: headers(), body: JSON.stringify(kind.body) };
    const response = await watch.fetch(stack.url + kind.path, init);
    const text = await response.text();
    if (response.status !== 200) return null;
    const cost = text.startsWith('data: ')
      ? costOfStream(text)
      : (JSON.parse(text) as { usage: { cost: number } }).usage.cost;
    return cost === null
      ? null
      : {
          requestId: response.headers.get('x-request-id') ?? '',
          nanos: nanosOf(cost),
          at: performance.now(),
        };
  } catch (error) {
    return isRefused(error) ? 'refused' : null;
  }
}

function costOfStream(text: string): number | null {
  const events = text.trimEnd().split('\n\n');
  if (events.at(-1) !== 'data: [DONE]') return null;
  const last = JSON.parse((events.at(-2) ?? '').slice('data: '.length)) as { usage: { cost: number } };
  return last.usage.cost;
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';
}

/** Retries until an answer arrives: reads of the bill also meet restarting services. */
async function read<T>(path: string): Promise<T> {
  const response = await watch.fetch(stack.url + path, { headers: headers() });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

describe('the bill', () => {
  test('is exact to the nano-dollar after 2,000 calls during which every part was killed', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const victims = [
      'edge',
      'model-router',
      'control',
      'billing',
      'nats',
      ...(withComputers ? ['computer-agent'] : []),
    ];
    const calls: AnsweredCall[] = [];
    const kills = new Map<string, number>();
    const down = new Map<string, Promise<void>>();
    /** `performance.now()` before and after each kill of an edge: this process may stand still in between. */
    const edgeKills: { before: number; after: number }[] = [];
    let begun = 0;
    let ended = 0;
    let errors = 0;

    let killing = Promise.resolve();
    const kill = async (victim: string) => {
      await down.get(victim); // a victim that is not back yet cannot be killed
      const before = performance.now();
      const { back } = await stack.kill9(victim);
      if (victim === 'edge') edgeKills.push({ before, after: performance.now() });
      kills.set(victim, (kills.get(victim) ?? 0) + 1);
      down.set(victim, back);
    };
    const untilEdge = () =>
      expect
        .poll(
          () =>
            watch
              .fetch(`${stack.url}/livez`)
              .then((response) => response.body?.cancel())
              .then(
                () => true,
                () => false,
              ),
          {
            timeout: EDGE_BACK_MS_MAX,
            interval: EDGE_LOOK_MS,
          },
        )
        .toBe(true);
    const worker = async () => {
      // The number of failed calls depends on how long the restarts take.
      while (begun < CALLS || calls.length <= CALLS / 2) {
        const n = begun++;
        let outcome = await call(n);
        while (outcome === 'refused') {
          await untilEdge();
          outcome = await call(n);
        }
        if (outcome === null) errors += 1;
        else calls.push(outcome);
        ended += 1;
        if (ended % CALLS_PER_KILL !== 0) continue;
        const victim = victims[(ended / CALLS_PER_KILL) % victims.length] ?? 'edge';
        killing = killing.then(() => kill(victim));
        await killing;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    await Promise.all(down.values());
    console.log(
      `${calls.length} answered, ${errors} errors, killed: ${JSON.stringify(Object.fromEntries(kills))}`,
    );

    expect(new Set(kills.keys())).toEqual(new Set(victims));
    expect(calls.length).toBeGreaterThan(CALLS / 2);
    const expected = calls.reduce((sum, { nanos }) => sum + nanos, 0n);
    // Voids of the last calls may still be in flight; the sum must settle at this value, but for the exception above.
    await expect
      .poll(
        () =>
          read<{ total: { cost: number } }>('/v1/usage?group_by=type').then(
            ({ total }) => nanosOf(total.cost),
            String,
          ),
        {
          timeout: SETTLE_TIMEOUT_MS,
          interval: 250,
        },
      )
      .toBe(expected)
      .catch(() => {}); // the check of each call below reports the differences

    const rows = await ledgerByCall();
    for (const { requestId, nanos, at } of calls) {
      const row = rows.get(requestId);
      const killed = edgeKills.findIndex(
        ({ before, after }) => before - AROUND_A_KILL_MS < at && at < after + AROUND_A_KILL_MS,
      );
      if (row?.net === 0n && killed >= 0)
        edgeKills.splice(killed, 1); // each killed edge may explain only one call
      else expect(row, requestId).toEqual({ charges: 1, net: nanos });
    }
    const answered = new Set(calls.map(({ requestId }) => requestId));
    const charged = [...rows].filter(([id, { net }]) => !answered.has(id) && net !== 0n);
    expect(charged).toEqual([]);
    expect(await watch.faults()).toEqual([]);
  });
});

/** Every call in the ledger: its number of charges, and the net amount after voids. */
async function ledgerByCall(): Promise<Map<string, { charges: number; net: bigint }>> {
  const client = await new MongoClient(stack.mongoUrl, { useBigInt64: true }).connect();
  try {
    const rows = await client.db().collection('ledger').find({}).toArray();
    expect(rows.map(({ n }) => n as bigint).sort((a, b) => Number(a - b))).toEqual(
      rows.map((_, index) => BigInt(index + 1)),
    );
    const calls = new Map<string, { charges: number; net: bigint }>();
    for (const row of rows.filter(({ kind }) => kind === 'call' || kind === 'void')) {
      const id = row.kind === 'void' ? String(row.voids) : String(row._id);
      const entry = calls.get(id) ?? { charges: 0, net: 0n };
      calls.set(id, {
        charges: entry.charges + (row.kind === 'call' ? 1 : 0),
        net: entry.net + (row.cost as bigint),
      });
    }
    return calls;
  } finally {
    await client.close();
  }
}
