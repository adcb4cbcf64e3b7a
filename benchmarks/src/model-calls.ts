// `npm run bench:models`: what Switchyard adds to a chat call, with auth, exact prices and durable usage events on. The
// upstream is called directly and through the whole stack in turn, so that both see the same machine; figures are the
// medians of the rounds. On a shared machine read the ratios, not the milliseconds.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chatModel, startStack, writeTestCatalog } from '@switchyard/testing';
import { median } from './figures.ts';
import { type LoadOptions, type Measured, measure, type Target } from './load.ts';
import { cpuMs, residentMiB } from './processes.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '4' } },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const WARM_UP_SECONDS = 2;

const PHASES: Record<string, Omit<LoadOptions, 'seconds'>> = {
  'one caller': { connections: 1, stream: false },
  '32 callers': { connections: 32, stream: false },
  'one caller, streamed': { connections: 1, stream: true },
  '16 callers, streamed': { connections: 16, stream: true },
};

const upstream = fork(join(import.meta.dirname, 'fast-upstream.ts'));
const [url] = (await once(upstream, 'message')) as [string];
const catalog = await writeTestCatalog({ url, models: [chatModel('acme/fast', url, 'fast')] });
const stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog } });
const pids = await Promise.all(['edge', 'model-router', 'nats'].map((name) => stack.pidOf(name)));
const direct: Target = { url, key: 'none', model: 'fast' };
const through: Target = { url: `${stack.url}/v1`, key: stack.key, model: 'acme/fast' };

interface Pair {
  direct: Measured;
  through: Measured;
  cpuMsPerCall: number;
}

console.log(
  `${rounds} rounds of ${seconds} s a phase; medians. CPU: edge, model-router and nats-server together.\n`,
);
for (const [name, phase] of Object.entries(PHASES)) {
  await measure(through, { ...phase, seconds: WARM_UP_SECONDS });
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const plain = await measure(direct, { ...phase, seconds });
    const before = cpuMs(pids);
    const ours = await measure(through, { ...phase, seconds });
    pairs.push({
      direct: plain,
      through: ours,
      cpuMsPerCall: (cpuMs(pids) - before) / (ours.callsPerSecond * seconds),
    });
  }
  report(name, pairs);
}
console.log(`\nmemory of the three  ${residentMiB(pids).toFixed(0)} MiB`);
await stack.stop();
upstream.disconnect();

function report(name: string, pairs: Pair[]): void {
  const of = (pick: (pair: Pair) => number) => median(pairs.map(pick));
  const errors = pairs.reduce((sum, pair) => sum + pair.through.errors + pair.direct.errors, 0);
  const ms = (value: number) => `${value.toFixed(2)} ms`.padStart(9);
  console.log(
    [
      name.padEnd(21),
      `p50 ${ms(of(({ through }) => through.p50))} (direct ${ms(of(({ direct }) => direct.p50))})`,
      `p99 ${ms(of(({ through }) => through.p99))} (${ms(of(({ direct }) => direct.p99))})`,
      `${of(({ through }) => through.callsPerSecond)
        .toFixed(0)
        .padStart(6)}/s (${of(({ direct }) => direct.callsPerSecond).toFixed(0)}/s)`,
      `CPU ${ms(of(({ cpuMsPerCall }) => cpuMsPerCall))} a call`,
      errors > 0 ? `${errors} ERRORS` : '',
    ].join('  '),
  );
}
