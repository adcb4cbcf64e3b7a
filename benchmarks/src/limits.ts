// `npm run bench:limits`: a rate limit over three edges, an edge to which more calls are sent than it can take, and one
// greedy org beside nine modest ones. All edges, the stack and the load share one machine: read the ratios.
import { parseArgs } from 'node:util';
import type { CreatedKey, CreatedOrg } from '@switchyard/contracts';
import { chatModel, writeTestCatalog } from '@switchyard/testing';
import { callsFromProcess } from './caller-process.ts';
import { startEdge } from './edge-process.ts';
import { quantile } from './figures.ts';
import { startFastUpstream } from './gateways.ts';
import { measure } from './load.ts';
import { startMeasuredStack } from './measured-stack.ts';
import { type Arrivals, callAtRate, sentOf } from './open-load.ts';
import { residentMiB } from './processes.ts';
import { postJson } from './stack-requests.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
const seconds = Number(values.seconds);
/** Requests per minute; reached long before the minute is over. */
const LIMIT = 600;
/** Long enough to reach the limit, and shorter than the minute. */
const MIN_LIMIT_SECONDS = 5;
/** Calls per second on each of three edges: the limit is reached in two seconds. */
const LIMITED_RATE = 100;
const NORMAL_CALLERS = 16;
/** Open calls that an edge allows: twice as many as keep the machine busy. */
const CALLS_MAX = 2 * NORMAL_CALLERS;
/** Calls of a flood, as a multiple of the normal rate. The callers may achieve less; the output states the achieved rate. */
const OVERLOAD = 3;
const MODEST_ORGS = 9;
/** Calls per second of the caller that measures beside a load, in a process of its own. */
const PROBE_RATE = 50;
/** Calls per second of a modest org. */
const MODEST_RATE = 5;

const upstream = await startFastUpstream();
const catalog = await writeTestCatalog({
  url: upstream.url,
  models: [chatModel('acme/fast', upstream.url, 'fast')],
});
const stack = await startMeasuredStack({
  env: { SWITCHYARD_CATALOG: catalog, SWITCHYARD_CALLS_MAX: String(CALLS_MAX) },
});

const target = (url: string, key: string) => ({ url: `${url}/v1`, key, model: 'acme/fast' });
const ms = (value: number) => `${value.toFixed(1)} ms`;
const percent = (part: number) => `${(part * 100).toFixed(1)} %`;

async function limitOverThreeEdges(): Promise<void> {
  const others = [await startEdge(stack.natsUrl), await startEdge(stack.natsUrl)];
  const urls = [stack.url, ...others.map(({ url }) => url)];
  const limits = { requests_per_minute: LIMIT };
  const { key } = await postJson<CreatedKey>(stack, '/v1/keys', {
    name: 'limited',
    permissions: ['models:write'],
    limits,
  });
  const flood = { perSecond: LIMITED_RATE, seconds: Math.max(seconds, MIN_LIMIT_SECONDS) };
  const edges = await Promise.all(urls.map((url) => callAtRate(target(url, key), flood)));
  const all = together(edges);
  console.log(
    `limit      ${LIMIT} requests per minute over three edges: ${all.took.length} admitted ` +
      `(${percent(all.took.length / LIMIT - 1)} off), ${notServed(all)} in ${all.seconds.toFixed(0)} s`,
  );
  await Promise.all(others.map((edge) => edge.stop()));
}

async function overload(): Promise<void> {
  const edge = [await stack.pidOf('edge')];
  const own = target(stack.url, stack.key);
  const load = { connections: NORMAL_CALLERS, seconds, stream: false };
  const probe = () => callsFromProcess({ target: own, perSecond: PROBE_RATE, seconds });
  await measure(own, load); // warms up
  const [normal, normalProbe] = await Promise.all([measure(own, load), probe()]);
  const perSecond = OVERLOAD * normal.callsPerSecond;
  const [over, overProbe] = await Promise.all([callAtRate(own, { perSecond, seconds }), probe()]);
  const memory = residentMiB(edge);
  const after = await measure(own, { ...load, seconds: 1 });
  const [before, during] = [quantile(normalProbe.took, 0.99), quantile(overProbe.took, 0.99)];
  console.log(
    `normal     ${normal.callsPerSecond.toFixed(0)} calls/s; a caller beside them: p99 ${ms(before)}`,
  );
  const sentPerSecond = sentOf(over) / over.sendingSeconds;
  console.log(
    `overload   ${sentPerSecond.toFixed(0)} calls/s sent (${(sentPerSecond / normal.callsPerSecond).toFixed(1)} times the normal rate): ` +
      `${(over.took.length / over.seconds).toFixed(0)} calls/s served, ${notServed(over)}, edge ${memory.toFixed(0)} MiB`,
  );
  console.log(
    `           a caller beside them: ${overProbe.took.length} of ${sentOf(overProbe)} served, ` +
      `p99 ${ms(during)} (${(during / before).toFixed(2)} times)`,
  );
  console.log(
    `afterwards ${after.callsPerSecond.toFixed(0)} calls/s, p99 ${ms(after.p99)} in the first second, ${after.errors} refused`,
  );
}

async function fairness(): Promise<void> {
  const names = ['greedy', ...Array.from({ length: MODEST_ORGS }, (_, i) => `modest ${i}`)];
  const orgs = await Promise.all(names.map((name) => postJson<CreatedOrg>(stack, '/v1/orgs', { name })));
  const [greedy, ...modest] = orgs.map(({ key }) => target(stack.url, key));
  if (!greedy) throw new Error('no org was made');
  const modestCalls = async () => {
    const rate = { perSecond: MODEST_RATE, seconds };
    return together(await Promise.all(modest.map((one) => callsFromProcess({ target: one, ...rate }))));
  };
  const capacity = await measure(greedy, { connections: NORMAL_CALLERS, seconds: 2, stream: false });
  const alone = await modestCalls();
  const [beside, flood] = await Promise.all([
    modestCalls(),
    callAtRate(greedy, { perSecond: OVERLOAD * capacity.callsPerSecond, seconds }),
  ]);
  const figures = (arrivals: Arrivals) => {
    const { took } = arrivals;
    const [p50, p99] = [quantile(took, 0.5), quantile(took, 0.99)];
    return `${took.length} of ${sentOf(arrivals)} served, ${notServed(arrivals)}, p50 ${ms(p50)}, p99 ${ms(p99)}`;
  };
  console.log(`fairness   nine modest orgs alone: ${figures(alone)}`);
  console.log(`           beside a greedy org: ${figures(beside)}`);
  console.log(`           the greedy org: ${figures(flood)}`);
}

/** Calls that several callers made at the same time. */
function together(all: readonly Arrivals[]): Arrivals {
  const sum = (pick: (one: Arrivals) => number) => all.reduce((total, one) => total + pick(one), 0);
  const longest = (pick: (one: Arrivals) => number) => Math.max(...all.map(pick));
  return {
    took: all.flatMap(({ took }) => took).sort((a, b) => a - b),
    shed: sum((one) => one.shed),
    refused: sum((one) => one.refused),
    broken: sum((one) => one.broken),
    unsent: sum((one) => one.unsent),
    sendingSeconds: longest((one) => one.sendingSeconds),
    seconds: longest((one) => one.seconds),
  };
}

function notServed({ shed, refused, broken, unsent }: Arrivals): string {
  return `${shed} shed with 503, ${refused} refused, ${broken} broken connections, ${unsent} not sent`;
}

await limitOverThreeEdges();
await overload();
await fairness();
await stack.stop();
upstream.stop();
