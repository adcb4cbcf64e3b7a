// `npm run bench:scaling`: how cost grows with keys, open streams, rows of the ledger, edges and routers, and the size of
// bodies. Switchyard alone, with a fast upstream; figures are medians. `bench:models` measures growth with callers.
import { parseArgs } from 'node:util';
import type { CreatedOrg } from '@switchyard/contracts';
import { chatModel, startUpstream, type TestStack, writeTestCatalog } from '@switchyard/testing';
import { databaseOf, makeMongoClient, openStore } from '../../services/billing/src/store/store.ts';
import { startEdge } from './edge-process.ts';
import { median, timed, untilSteady } from './figures.ts';
import { startFastUpstream } from './gateways.ts';
import { insertRows } from './ledger-rows.ts';
import { measure, type Target } from './load.ts';
import { startMeasuredStack } from './measured-stack.ts';
import { residentMiB } from './processes.ts';
import { postJson, randomFile, request, storeFile } from './stack-requests.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    rows: { type: 'string', default: '1000000' },
  },
});
const rounds = Number(values.rounds);
const rows = Number(values.rows);
const seconds = Number(values.seconds);

const KEYS = 10_000;
/** An org may have 1,000. */
const KEYS_OF_ORG = 500;
const KEYS_AT_ONCE = 32;
const STREAMS_FEW = 10;
const STREAMS_MANY = 1_000;
/** Milliseconds between two chunks of an open stream: longer than the measurement. */
const STREAM_GAP_MS = 20_000;
const CALLERS = 32;
/** Largest difference of the last two warm-up runs: programs become faster for a while after their start. */
const STEADY_SHARE = 0.05;
const WARM_UP_RUNS_MAX = 10;
const [QUESTIONS, DOCUMENTS, PROMPT_TOKENS] = [300, 1_000, 128_000];
const MIB = 1_024 * 1_024;
/** Milliseconds without an answer of the database while it is filled. */
const SILENCE_MS = 600_000;
const [UPLOAD_MIB, DOWNLOAD_MIB] = [25, 100];

const fast = await startFastUpstream();
const slow = await startUpstream();
const catalog = await writeTestCatalog({
  url: fast.url,
  models: [
    chatModel('acme/fast', fast.url, 'fast'),
    chatModel('acme/open', slow.url, `open+gap-${STREAM_GAP_MS}`),
  ],
});

console.log('| what | figure |\n|---|---|');
// Each with a stack of its own: processes keep the buffers of large bodies.
await withStack({}, streams);
await withStack({}, bodies);
await withStack({}, async (base) => {
  await withStack({}, async (grown) => {
    await addKeys(grown);
    await compare({
      'calls per second with 1 key': edgesOf(base),
      [`calls per second with ${KEYS.toLocaleString('en-US')} keys`]: edgesOf(grown),
    });
  });
  await withStack({}, async (grown) => {
    await fillLedger(grown);
    await compare({
      'calls per second with no further row in the ledger': edgesOf(base),
      [`calls per second with ${rows.toLocaleString('en-US')} further rows`]: edgesOf(grown),
    });
  });
  await withStack({ SWITCHYARD_SCALE: 'model-router=2' }, async (grown) => {
    const edge = await startEdge(grown.natsUrl);
    await compare({
      'calls per second with one edge and one router': edgesOf(base),
      'calls per second with one edge and two routers': edgesOf(grown),
      'calls per second with two edges and two routers': edgesOf(grown, edge.url),
    });
    await edge.stop();
  });
});
await slow.close();
fast.stop();

async function withStack(
  env: Record<string, string>,
  work: (stack: TestStack) => Promise<void>,
): Promise<void> {
  const stack = await startMeasuredStack({ env: { SWITCHYARD_CATALOG: catalog, ...env } });
  try {
    await work(stack);
  } finally {
    await stack.stop();
  }
}

function row(what: string, figure: string): void {
  console.log(`| ${what} | ${figure} |`);
}

function edgesOf({ url, key }: TestStack, ...more: string[]): Target[] {
  return [url, ...more].map((one) => ({ url: `${one}/v1`, key, model: 'acme/fast' }));
}

/** Measures the cases in turn, all of them warm, so that they see the same machine. */
async function compare(cases: Readonly<Record<string, readonly Target[]>>): Promise<void> {
  const warm: { what: string; edges: readonly Target[]; isSteady: boolean; figures: number[] }[] = [];
  for (const [what, edges] of Object.entries(cases)) {
    const limits = { share: STEADY_SHARE, runsMax: WARM_UP_RUNS_MAX };
    const isSteady = await untilSteady(() => callsPerSecond(edges), limits);
    warm.push({ what, edges, isSteady, figures: [] });
  }
  for (let round = 0; round < rounds; round += 1)
    for (const { edges, figures } of warm) figures.push(await callsPerSecond(edges));
  for (const { what, isSteady, figures } of warm)
    row(what, `${median(figures).toFixed(0)}${isSteady ? '' : ' (not steady)'}`);
}

/** The callers are spread over the edges. */
async function callsPerSecond(edges: readonly Target[]): Promise<number> {
  const load = { connections: CALLERS / edges.length, seconds, stream: false };
  const measured = await Promise.all(edges.map((edge) => measure(edge, load)));
  return measured.reduce((sum, one) => sum + one.callsPerSecond, 0);
}

async function fillLedger({ mongoUrl }: TestStack): Promise<void> {
  const client = makeMongoClient(mongoUrl, { silenceMs: SILENCE_MS });
  await insertRows(openStore(databaseOf(client, mongoUrl)), rows);
  await client.close();
}

async function addKeys(stack: TestStack): Promise<void> {
  for (let made = 0; made < KEYS; made += KEYS_OF_ORG) {
    const org = await postJson<CreatedOrg>(stack, '/v1/orgs', { name: `org ${made}`, billing: 'prepaid' });
    let left = KEYS_OF_ORG;
    const make = async () => {
      while (left > 0) {
        left -= 1;
        await postJson(stack, `/v1/orgs/${org.id}/keys`, {
          name: `key ${left}`,
          permissions: ['models:write'],
        });
      }
    };
    await Promise.all(Array.from({ length: KEYS_AT_ONCE }, make));
  }
}

/** Memory of edge, router and NATS for each stream that is open and has sent its first bytes. */
async function streams(stack: TestStack): Promise<void> {
  const pids = await Promise.all(['edge', 'model-router', 'nats'].map((name) => stack.pidOf(name)));
  const gone = new AbortController();
  const body = { model: 'acme/open', messages: [{ role: 'user', content: 'hi' }], stream: true };
  const open = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const response = await request(stack, '/v1/chat/completions', { json: body, signal: gone.signal });
        await response.body?.getReader().read();
      }),
    );
  await open(STREAMS_FEW);
  const few = residentMiB(pids);
  await open(STREAMS_MANY - STREAMS_FEW);
  const kib = ((residentMiB(pids) - few) * 1_024) / (STREAMS_MANY - STREAMS_FEW);
  row(
    `memory for each open stream, ${STREAMS_FEW} to ${STREAMS_MANY.toLocaleString('en-US')}`,
    `${kib.toFixed(0)} KiB`,
  );
  gone.abort();
}

async function bodies(stack: TestStack): Promise<void> {
  const words = 'word '.repeat(PROMPT_TOKENS);
  const chat = { model: 'acme/fast', messages: [{ role: 'user', content: words }] };
  row(
    `a prompt of ${PROMPT_TOKENS.toLocaleString('en-US')} tokens`,
    await ms(() => postJson(stack, '/v1/chat/completions', chat)),
  );
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => `document ${i} about ships and harbours`);
  const rerank = { model: 'local/rerank', query: 'ships', documents };
  row(
    `${DOCUMENTS.toLocaleString('en-US')} documents, ranked by the local model`,
    await ms(() => postJson(stack, '/v1/rerank', rerank)),
  );
  const questions = Object.fromEntries(
    Array.from({ length: QUESTIONS }, (_, i) => [
      `is ${i}`,
      { type: 'boolean', instructions: `Is the amount over ${i}?` },
    ]),
  );
  const decide = { model: 'local/decide', state: { amount: 7 }, questions };
  row(
    `${QUESTIONS} questions, decided by the local model`,
    await ms(() => postJson(stack, '/v1/decisions', decide)),
  );
  const up = randomFile(UPLOAD_MIB * MIB);
  row(`${UPLOAD_MIB} MiB up`, await ms(() => storeFile(stack, up)));
  const id = await storeFile(stack, randomFile(DOWNLOAD_MIB * MIB));
  row(
    `${DOWNLOAD_MIB} MiB down`,
    await ms(async () => (await request(stack, `/v1/files/${id}/content`)).arrayBuffer()),
  );
}

async function ms(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) await timed(times, work);
  return `${median(times).toFixed(0)} ms`;
}
