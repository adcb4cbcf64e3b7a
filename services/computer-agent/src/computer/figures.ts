// Prints what exec, claim and creation cost on this machine: `node services/computer-agent/src/computer/figures.ts`.
// Real containers of the standard image; the median and the 95th percentile of each, in milliseconds.
import { IMAGE } from '@switchyard/sandbox-computer';
import type { RunningComputer } from './computer-host.ts';
import { openTestHost, run, type TestHost } from './test-host.ts';

const EXECS = 300;
const RUNS = 10;

async function timed(times: number[], work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  times.push(performance.now() - startedAt);
}

function show(what: string, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (fraction: number) => (sorted[Math.floor((sorted.length - 1) * fraction)] ?? 0).toFixed(1);
  console.log(
    `${what.padEnd(50)} p50 ${at(0.5).padStart(6)}   p95 ${at(0.95).padStart(6)}   n ${sorted.length}`,
  );
}

async function start({ host }: TestHost, computerId: string): Promise<RunningComputer> {
  const reservation = await host.reserve({ computerId, image: IMAGE, cpu: 1, memoryMb: 1024 });
  const computer = await reservation.start();
  await run(computer, 'true');
  return computer;
}

const execs: number[] = [];
for (const [kind, warmPool] of [
  ['pooled', 2],
  ['cold', 0],
] as const) {
  const testHost = await openTestHost({ warmPool });
  const creates: number[] = [];
  const starts: number[] = [];
  const stops: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const id = `cmp_${i}`;
    let computer: RunningComputer | undefined;
    for (const times of [creates, starts]) {
      await testHost.host.poolFilled();
      await timed(times, async () => {
        if (times === creates) await testHost.host.workspaces.create(id);
        computer = await start(testHost, id);
      });
      if (kind === 'pooled' && times === creates) {
        await testHost.host.poolFilled(); // as it is most of the time: nothing else going on
        for (let n = 0; n < EXECS / RUNS; n++) await timed(execs, () => run(computer!, 'true'));
      }
      await timed(stops, () => computer!.stop());
    }
  }
  await testHost.close();
  if (kind === 'pooled') show('exec of `true`', execs);
  show(`${kind} create to first command done`, creates);
  show(`${kind} start of a stopped one to first command done`, starts);
  show('stop', stops);
}
