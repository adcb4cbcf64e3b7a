// Keeps the request path cheap: the CPU of one chat call through edge, router and nats-server, beside that of a bare
// proxy in the same run. CPU time hardly depends on what else the machine does, and the margin is wide.
import { chatModel, startStack, writeTestCatalog } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startBareHop, startFastUpstream, type Upstream } from '../benchmarks/src/gateways.ts';
import { measure } from '../benchmarks/src/load.ts';
import { cpuMs } from '../benchmarks/src/processes.ts';

/** About twice the ratio that was measured when this guard was written. */
const RATIO_MAX = 8;
const ROUNDS = 3;
const LOAD = { connections: 8, seconds: 2, stream: false };

let upstream: Upstream;
let hop: Gateway;
let stack: Awaited<ReturnType<typeof startStack>>;

beforeAll(async () => {
  upstream = await startFastUpstream();
  hop = await startBareHop(upstream);
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [chatModel('acme/fast', upstream.url, 'fast')],
  });
  stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog } });
});
afterAll(async () => {
  await stack?.stop();
  await hop?.stop();
  upstream?.stop();
});

test(`a chat call takes at most ${RATIO_MAX} times the CPU of a bare proxy`, async () => {
  const ours = {
    target: { url: `${stack.url}/v1`, key: stack.key, model: 'acme/fast' },
    pids: await Promise.all(['edge', 'model-router', 'nats'].map((name) => stack.pidOf(name))),
  };
  const cpuOfCall = async ({ target, pids }: Pick<Gateway, 'target' | 'pids'>) => {
    const before = cpuMs(pids);
    const { calls, errors } = await measure(target, LOAD);
    expect(errors).toBe(0);
    return (cpuMs(pids) - before) / calls;
  };
  await cpuOfCall(ours); // warms up the compilers
  await cpuOfCall(hop);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    ratios.push((await cpuOfCall(ours)) / (await cpuOfCall(hop)));
  console.log(`times the CPU of a bare proxy: ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')}`);
  expect(Math.min(...ratios)).toBeLessThan(RATIO_MAX);
});
