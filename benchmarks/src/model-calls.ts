// `npm run bench:models`: what a gateway adds to a chat call. The upstream is called directly and through each gateway
// in turn, in rounds, so that all see the same machine; figures are medians of the rounds. CPU is that of every process
// of a gateway: for Switchyard also billing and the database. Each peer runs as one process. On a shared machine read the
// ratios, not the milliseconds.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { freePort } from '@switchyard/local';
import { median } from './figures.ts';
import {
  directly,
  type Gateway,
  startBareHop,
  startFastUpstream,
  startLiteLlm,
  startPortkey,
  startSwitchyard,
} from './gateways.ts';
import { type LoadOptions, type Measured, measure } from './load.ts';
import { cpuMs, residentMiB } from './processes.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '4' } },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const WARM_UP_SECONDS = 3;
/** Goals, as multiples of Portkey's figure in the same run. */
const GOALS = { addedLatency: 0.7, callsPerSecond: 4, cpu: 0.4, firstByte: 1.09 };
/** Least share of the throughput at 128 callers that 8 callers reach; maximum of p99 / p50 at 32. */
const [LIGHT_LOAD_SHARE_MIN, TAIL_MAX] = [0.6, 4];

const PHASES = {
  'one caller': { connections: 1, stream: false },
  '8 callers': { connections: 8, stream: false },
  '32 callers': { connections: 32, stream: false },
  '128 callers': { connections: 128, stream: false },
  '512 callers': { connections: 512, stream: false },
  'one stream': { connections: 1, stream: true },
  '16 streams': { connections: 16, stream: true },
} as const satisfies Record<string, Omit<LoadOptions, 'seconds'>>;
type Phase = keyof typeof PHASES;

interface Sample extends Measured {
  cpuMsPerCall: number;
}

const samples = new Map<string, Map<Phase, Sample[]>>();
const upstream = await startFastUpstream();
const direct = directly(upstream);
const hop = await startBareHop(upstream);
const portkey = await startPeer('Portkey', startPortkey);
const liteLlm = await startPeer('LiteLLM', startLiteLlm);
const ours = await startSwitchyard(upstream);
const gateways = [direct, hop, portkey, liteLlm, ours].filter((one) => one !== undefined);

console.log(
  `${rounds} rounds of ${seconds} s for each figure, medians; ${availableParallelism()} cores for callers, upstream and gateway together.\n`,
);
for (const gateway of gateways) await warmUp(gateway);
for (let round = 0; round < rounds; round += 1)
  for (const phase of Object.keys(PHASES) as Phase[])
    for (const gateway of round % 2 === 0 ? gateways : gateways.toReversed()) await sample(gateway, phase);

for (const phase of Object.keys(PHASES) as Phase[]) {
  console.log(`\n### ${phase}\n`);
  console.log(
    '| | processes | calls/s | p50 | p99 | first byte p50 | CPU a call | errors |\n|---|---|---|---|---|---|---|---|',
  );
  for (const gateway of gateways) console.log(row(gateway, phase));
}
console.log('\n### Summary\n');
console.log(
  '| | processes | calls/s, 32 callers | CPU a call | p50, one caller | p50, 32 callers |\n|---|---|---|---|---|---|',
);
for (const gateway of gateways) console.log(summaryRow(gateway));
console.log('\n### Goals\n\n| | Switchyard | Portkey | ratio | goal | |\n|---|---|---|---|---|---|');
if (portkey) for (const line of comparison(portkey.name)) console.log(line);
for (const line of ownGoals()) console.log(line);
console.log(
  `\nMemory after the load: Switchyard ${residentMiB(ours.pids).toFixed(0)} MiB in all its processes.`,
);
for (const gateway of gateways) await gateway.stop();
upstream.stop();

async function startPeer(name: string, start: typeof startPortkey): Promise<Gateway | undefined> {
  try {
    return await start(upstream, await freePort());
  } catch (error) {
    console.log(`${name} cannot be measured: ${error instanceof Error ? error.message : error}\n`);
    return undefined;
  }
}

async function warmUp({ target }: Gateway): Promise<void> {
  for (const { connections, stream } of [PHASES['8 callers'], PHASES['16 streams']])
    await measure(target, { connections, stream, seconds: WARM_UP_SECONDS });
}

async function sample({ name, target, pids }: Gateway, phase: Phase): Promise<void> {
  const before = cpuMs(pids);
  const measured = await measure(target, { ...PHASES[phase], seconds });
  const ofGateway = samples.get(name) ?? new Map<Phase, Sample[]>();
  const ofPhase = ofGateway.get(phase) ?? [];
  ofPhase.push({ ...measured, cpuMsPerCall: (cpuMs(pids) - before) / measured.calls });
  ofGateway.set(phase, ofPhase);
  samples.set(name, ofGateway);
}

function of(name: string, phase: Phase, pick: (sample: Sample) => number): number {
  return median((samples.get(name)?.get(phase) ?? []).map(pick));
}

function row({ name, pids }: Gateway, phase: Phase): string {
  const ms = (pick: (sample: Sample) => number) => `${of(name, phase, pick).toFixed(2)} ms`;
  const errors = (samples.get(name)?.get(phase) ?? []).reduce((sum, one) => sum + one.errors, 0);
  const calls = of(name, phase, ({ callsPerSecond }) => callsPerSecond).toFixed(0);
  const times = [ms(({ p50 }) => p50), ms(({ p99 }) => p99), ms(({ firstByteP50 }) => firstByteP50)];
  const cpu = name === direct.name ? '' : ms(({ cpuMsPerCall }) => cpuMsPerCall);
  return `| ${[name, pids.length || '', calls, ...times, cpu, errors].join(' | ')} |`;
}

function summaryRow({ name, pids }: Gateway): string {
  const many = (pick: (sample: Sample) => number) => of(name, '32 callers', pick);
  const cpu = name === direct.name ? '' : `${many(({ cpuMsPerCall }) => cpuMsPerCall).toFixed(2)} ms`;
  const p50 = ({ p50: value }: Sample) => value;
  const times = [of(name, 'one caller', p50), many(p50)].map((value) => `${value.toFixed(2)} ms`);
  const calls = many(({ callsPerSecond }) => callsPerSecond).toFixed(0);
  return `| ${[name, pids.length || '', calls, cpu, ...times].join(' | ')} |`;
}

function comparison(peer: string): string[] {
  const p50 = ({ p50: value }: Sample) => value;
  const added = (name: string, phase: Phase, pick: (sample: Sample) => number) =>
    of(name, phase, pick) - of(direct.name, phase, pick);
  const both = (value: (name: string) => number) => [value(ours.name), value(peer)] as const;
  const [latency, peerLatency] = both((name) => added(name, 'one caller', p50));
  const [rate, peerRate] = both((name) => of(name, '32 callers', ({ callsPerSecond }) => callsPerSecond));
  const [cpu, peerCpu] = both((name) => of(name, '32 callers', ({ cpuMsPerCall }) => cpuMsPerCall));
  const firstByte = added(ours.name, 'one stream', ({ firstByteP50 }) => firstByteP50);
  const most = (what: string, unit: string, [own, peers]: readonly [number, number], goal: number) =>
    goalRow(
      what,
      `${own.toFixed(2)} ${unit}`,
      `${peers.toFixed(2)} ${unit}`,
      own / peers,
      `at most ${goal}`,
      own / peers <= goal,
    );
  return [
    most('added latency p50, one caller', 'ms', [latency, peerLatency], GOALS.addedLatency),
    goalRow(
      'calls per second, 32 callers',
      rate.toFixed(0),
      peerRate.toFixed(0),
      rate / peerRate,
      `at least ${GOALS.callsPerSecond}`,
      rate / peerRate >= GOALS.callsPerSecond,
    ),
    most('CPU a call, 32 callers', 'ms', [cpu, peerCpu], GOALS.cpu),
    most(
      'added first byte of a stream, beside what the peer adds to a call',
      'ms',
      [firstByte, peerLatency],
      GOALS.firstByte,
    ),
  ];
}

function ownGoals(): string[] {
  const rate = (phase: Phase) => of(ours.name, phase, ({ callsPerSecond }) => callsPerSecond);
  const [light, full] = [rate('8 callers'), rate('128 callers')];
  const [p50, p99] = [
    of(ours.name, '32 callers', (one) => one.p50),
    of(ours.name, '32 callers', (one) => one.p99),
  ];
  return [
    goalRow(
      'calls per second, 8 callers beside 128',
      light.toFixed(0),
      full.toFixed(0),
      light / full,
      `at least ${LIGHT_LOAD_SHARE_MIN}`,
      light / full >= LIGHT_LOAD_SHARE_MIN,
    ),
    goalRow(
      'p99 beside p50, 32 callers',
      `${p99.toFixed(1)} ms`,
      `${p50.toFixed(1)} ms`,
      p99 / p50,
      `under ${TAIL_MAX}`,
      p99 / p50 < TAIL_MAX,
    ),
  ];
}

function goalRow(
  what: string,
  own: string,
  other: string,
  ratio: number,
  goal: string,
  isReached: boolean,
): string {
  return `| ${[what, own, other, ratio.toFixed(2), goal, isReached ? 'reached' : 'missed'].join(' | ')} |`;
}
