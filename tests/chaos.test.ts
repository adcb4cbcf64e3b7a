// The billing guarantee under chaos: mixed traffic of every type while every service, the bus and the database are
// killed with `kill -9` at random. Afterwards each answered call is in the ledger once at the cost reported to its
// caller, nothing else is charged, failed videos cost nothing, nothing is held, and the audit finds no drift.
//
//   npx vitest run tests/chaos.test.ts                   for 30 s, with a seed that it prints
//   SEED=7 npm run test:soak                             for 600 s
import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type VideoObject, videoList } from '@switchyard/contracts';
import { ROOT } from '@switchyard/local';
import {
  type CatalogEntry,
  chatModel,
  docker,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { type Charged, readCharges } from './chaos/ledger.ts';
import { type Chance, chanceOf } from './chaos/random.ts';
import { isRefused, type Outcome, post, trafficOf } from './chaos/traffic.ts';

const SEED = Number(process.env.SEED ?? randomInt(1, 1_000_000));
const CHAOS_MS = Number(process.env.CHAOS_SECONDS ?? 30) * 1_000;
const CALLERS = 8;
/** Minimum pause between two kills. */
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 5_000;
/** Pause between two video jobs. */
const VIDEO_PAUSE_MS = 1_500;
/** Polls until an upstream job is done: enough for the job to live through a kill. */
const LOOKS = 3;
const EDGE_LOOK_MS = 50;
/** Maximum calls of one caller after the kills. */
const QUIET_CALLS_MAX = 50;
/** Time for everything to end, be booked and be released afterwards. */
const SETTLED_WITHIN_MS = 90_000;
/** Maximum length of an error in the summary. */
const WHY_CHARACTERS = 90;
const AFTERWARDS_MS_MAX = 600_000;
/** Printed from the end of billing's log when the test fails. */
const LOG_LINES_MAX = 200;

let upstream: Upstream;
let stack: TestStack;
let withComputers: boolean;

beforeAll(async () => {
  upstream = await startUpstream();
  serveVideos(upstream);
  const chat = (id: string, behaviour: string) => chatModel(`acme/${id}`, upstream.url, `${id}+${behaviour}`);
  const video = (id: string): CatalogEntry => ({
    id: `acme/${id}`,
    type: 'video',
    name: id,
    modalities: { input: ['text'], output: ['video'] },
    pricing: { second: { '480p': '0.0333' } },
    upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model: id }],
  });
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [
      ...[chat('quick', 'latency-0'), chat('thinks', 'latency-40'), chat('talks', 'gap-5')],
      ...[chat('broken', 'fault-500'), video('succeeding'), video('failing')],
    ],
  });
  withComputers = (await docker()) !== undefined;
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog, ...(withComputers ? { SWITCHYARD_COMPUTERS: 'on' } : {}) },
    ownMongo: true,
  });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

/** Jobs in OpenAI's shape, done after a few polls; jobs of `failing` fail. */
function serveVideos(to: Upstream): void {
  const looks = new Map<string, number>();
  for (const model of ['succeeding', 'failing'])
    to.on(model, ({ headers }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: `${model}_${headers['idempotency-key']}`, status: 'queued' }));
    });
  to.on('', ({ path }, response) => {
    if (path.endsWith('/content'))
      return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(randomBytes(20_000));
    const id = path.slice(path.lastIndexOf('/') + 1);
    looks.set(id, (looks.get(id) ?? 0) + 1);
    const end = id.startsWith('failing') ? 'failed' : 'completed';
    const status = (looks.get(id) ?? 0) > LOOKS ? end : 'in_progress';
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id, status }));
  });
}

const caller = () => ({ url: stack.url, key: stack.key });

async function get<T>(path: string): Promise<T> {
  const response = await fetch(stack.url + path, { headers: { authorization: `Bearer ${stack.key}` } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

async function untilEdge(): Promise<void> {
  const isThere = () =>
    fetch(`${stack.url}/livez`)
      .then((response) => response.body?.cancel())
      .then(
        () => true,
        () => false,
      );
  await expect.poll(isThere, { timeout: SETTLED_WITHIN_MS, interval: EDGE_LOOK_MS }).toBe(true);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills processes one after the other, sometimes with several down at once, until the time is over. */
async function killAtRandom(chance: Chance, over: () => boolean): Promise<Map<string, number>> {
  const victims = ['edge', 'model-router', 'video-worker', 'billing', 'nats', 'mongo'];
  if (withComputers) victims.push('computer-agent');
  const kills = new Map<string, number>();
  const down = new Map<string, Promise<void>>();
  const began = performance.now();
  // Each victim at least once in random order, then random victims.
  const first = victims.map((name) => ({ name, at: chance.next() })).sort((a, b) => a.at - b.at);
  while (!over()) {
    await pause(PAUSE_MS_MIN + chance.below(PAUSE_MS_MAX - PAUSE_MS_MIN));
    const victim = first.pop()?.name ?? chance.pick(victims);
    await down.get(victim);
    const { back } = await stack.kill9(victim);
    console.log(`${((performance.now() - began) / 1_000).toFixed(1)} s: kill -9 ${victim}`);
    kills.set(victim, (kills.get(victim) ?? 0) + 1);
    down.set(victim, back);
  }
  await Promise.all(down.values());
  return kills;
}

/** Makes calls one after the other; kinds without any answer are called again in the quiet phase afterwards. */
async function callAtRandom(chance: Chance, over: () => boolean, traffic: ReturnType<typeof trafficOf>) {
  const outcomes: Outcome[] = [];
  for (
    let quiet = 0;
    !over() || (traffic.unanswered > 0 && quiet < QUIET_CALLS_MAX);
    quiet += over() ? 1 : 0
  ) {
    const outcome = await traffic.call(chance);
    if (outcome.how === 'refused') await untilEdge();
    else outcomes.push(outcome);
  }
  return outcomes;
}

/**
 * Orders videos. The list shows afterwards which orders were accepted, whatever the response was. Models without any
 * job are ordered once more in the quiet phase afterwards.
 */
async function makeVideos(chance: Chance, over: () => boolean): Promise<void> {
  const untaken = new Set(['acme/succeeding', 'acme/failing']);
  const models = [...untaken];
  for (let quiet = 0; !over() || (untaken.size > 0 && quiet < QUIET_CALLS_MAX); quiet += over() ? 1 : 0) {
    const model = chance.pick(over() ? [...untaken] : models);
    await post(caller(), '/v1/videos/generations', { model, prompt: 'a cat', duration: 3 })
      .then(async (response) => {
        await response.arrayBuffer();
        if (response.status === 202) untaken.delete(model);
      })
      .catch((error: unknown) => (isRefused(error) ? untilEdge() : undefined));
    await pause(VIDEO_PAUSE_MS);
  }
}

/** Creates, uses and deletes computers; errors on the way are ignored. */
async function useComputers(over: () => boolean): Promise<void> {
  while (withComputers && !over())
    try {
      const created = await post(caller(), '/v1/computers', {});
      const { id } = (await created.json()) as { id?: string };
      if (id === undefined) throw new Error(`no computer: ${created.status}`);
      for (let i = 0; i < 3; i += 1)
        await (await post(caller(), `/v1/computers/${id}/exec`, { command: 'echo hi' })).arrayBuffer();
      await remove(id);
    } catch {
      await pause(PAUSE_MS_MIN);
    }
}

async function remove(computer: string): Promise<void> {
  const headers = { authorization: `Bearer ${stack.key}` };
  const response = await fetch(`${stack.url}/v1/computers/${computer}`, { method: 'DELETE', headers });
  await response.arrayBuffer();
}

async function prepare() {
  const permissions = ['models:write'];
  const made = await post(caller(), '/v1/keys', {
    ...{ name: 'limited', permissions },
    limit: { amount: 5, interval: 'month' },
  });
  const { key } = (await made.json()) as { key: string };
  const speech = { model: 'local/speech', input: 'seven', voice: 'alloy', response_format: 'wav' };
  const spoken = await post(caller(), '/v1/audio/speech', speech);
  expect([made.status, spoken.status]).toEqual([201, 200]);
  const told: Outcome = {
    ...{ how: 'answered', what: 'speech', id: spoken.headers.get('x-request-id') ?? '' },
    nanos: BigInt(Math.round(Number(spoken.headers.get('x-service-cost')) * 1e9)),
  };
  return { traffic: trafficOf(caller(), key, await spoken.blob()), told };
}

/** Waits until no computer runs and no video is pending. */
async function settle(): Promise<VideoObject[]> {
  if (withComputers)
    await expect
      .poll(
        async () => {
          const { data } = await get<{ data: { id: string }[] }>('/v1/computers');
          for (const { id } of data) await remove(id);
          return data.length;
        },
        { timeout: SETTLED_WITHIN_MS, interval: 1_000 },
      )
      .toBe(0);
  let videos: VideoObject[] = [];
  await expect
    .poll(
      async () => {
        videos = videoList.parse(await get('/v1/videos?limit=1000')).data;
        return videos.filter(({ status }) => status === 'pending').length;
      },
      { timeout: SETTLED_WITHIN_MS, interval: 1_000 },
    )
    .toBe(0);
  return videos;
}

/** Differences between the ledger and the costs reported to callers; empty when they agree. */
function differences(
  charges: ReadonlyMap<string, Charged>,
  outcomes: readonly Outcome[],
  videos: readonly VideoObject[],
): string[] {
  const found: string[] = [];
  const due = new Map<string, bigint | 'anything'>();
  const whatOf = new Map<string, string>();
  for (const outcome of outcomes) {
    if (outcome.how === 'refused' || outcome.id === null) continue;
    whatOf.set(outcome.id, `${outcome.what}, ${outcome.how}${'why' in outcome ? `: ${outcome.why}` : ''}`);
    if (outcome.how === 'answered') due.set(outcome.id, outcome.nanos);
    if (outcome.how === 'left') due.set(outcome.id, 'anything');
  }
  for (const { id, status, usage } of videos) {
    due.set(id, BigInt(Math.round(usage.cost * 1e9)));
    whatOf.set(id, `video, ${status}`);
    if ((status === 'failed') !== (usage.cost === 0)) found.push(`${id}: ${status} at ${usage.cost}`);
  }
  for (const [id, nanos] of due) {
    const { charges: count = 0, net = 0n } = charges.get(id) ?? {};
    const isRight = nanos === 'anything' ? count <= 1 : count === 1 && net === nanos;
    if (!isRight) found.push(`${id} (${whatOf.get(id)}): ${count} charges, ${net}; due: ${nanos}`);
  }
  for (const [id, { net, charges: count }] of charges)
    if (!due.has(id) && (net !== 0n || count > 1))
      found.push(`${id} (${whatOf.get(id) ?? 'no head came'}): ${count} charges, ${net}; due: nothing`);
  return found;
}

/** `npm run audit` on an idle installation. */
async function auditIdle() {
  const main = join(ROOT, 'services/billing/src/audit/main.ts');
  const env = { ...process.env, NATS_URL: stack.natsUrl, MONGODB_URL: stack.mongoUrl };
  return promisify(execFile)(process.execPath, [main, '--idle'], { env, maxBuffer: 2 ** 26 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

test(`the books are right after ${CHAOS_MS / 1_000} s of mixed traffic and kills (SEED=${SEED})`, {
  timeout: CHAOS_MS + AFTERWARDS_MS_MAX,
}, async () => {
  console.log(`SEED=${SEED} CHAOS_SECONDS=${CHAOS_MS / 1_000}`);
  onTestFailed(async () => {
    const lines = (await stack.log('billing')).trimEnd().split('\n');
    console.log(['the end of the log of billing:', ...lines.slice(-LOG_LINES_MAX)].join('\n'));
  });
  const { traffic, told } = await prepare();
  const until = performance.now() + CHAOS_MS;
  const over = () => performance.now() >= until;
  const [kills, , , ...calls] = await Promise.all([
    killAtRandom(chanceOf(SEED), over),
    makeVideos(chanceOf(SEED + 1), over),
    useComputers(over),
    ...Array.from({ length: CALLERS }, (_, i) => callAtRandom(chanceOf(SEED + 2 + i), over, traffic)),
  ]);
  const outcomes = [told, ...calls.flat()];
  const videos = await settle();
  const ended = (how: Outcome['how']) => outcomes.filter((outcome) => outcome.how === how).length;
  const whys = new Map<string, number>();
  for (const outcome of outcomes)
    if (outcome.how === 'failed') {
      const why = outcome.why.slice(0, WHY_CHARACTERS);
      whys.set(why, (whys.get(why) ?? 0) + 1);
    }
  console.log(Object.fromEntries(whys));
  console.log(
    `${ended('answered')} answered, ${ended('left')} left, ${ended('failed')} failed, ${videos.length} videos; killed: ${JSON.stringify(Object.fromEntries(kills))}`,
  );

  // Voids of the last calls may still be in flight.
  await expect
    .poll(async () => differences(await readCharges(stack.mongoUrl), outcomes, videos), {
      timeout: SETTLED_WITHIN_MS,
      interval: 1_000,
    })
    .toEqual([]);
  expect(kills.size).toBe(withComputers ? 7 : 6);
  const answered = new Set(
    outcomes.flatMap((one) => (one.how === 'answered' || one.how === 'left' ? one.what : [])),
  );
  expect([...answered].sort()).toEqual([...traffic.kinds].sort());
  expect(videos.some(({ status }) => status === 'completed')).toBe(true);
  expect(videos.some(({ status }) => status === 'failed')).toBe(true);

  const { code, stdout, stderr } = await auditIdle();
  console.log(stdout);
  expect(stdout, stderr).toMatch(/zero drift/);
  expect(code).toBe(0);
});
