// `npm run bench:computers`: latency of computers for an HTTP client, through edge, bus and agent, at 1, 10 and
// 50 at once; beside the floor of plain dockerode on the same engine in the same run. On a shared machine read the ratios.
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { TestStack } from '@switchyard/testing';
import { type Computer, ComputerClient } from './computer-client.ts';
import { DockerFloor, waitingContainers } from './docker-floor.ts';
import { atOnce, type Figures, figuresOf, timed } from './figures.ts';
import { startMeasuredStack } from './measured-stack.ts';
import { randomFile, storeFile } from './stack-requests.ts';

const { values } = parseArgs({
  options: {
    at: { type: 'string', default: '1,10,50' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
  },
});
const LEVELS = values.at.split(',').map(Number);
const ROUNDS = Number(values.rounds);
const EXEC_SECONDS = Number(values.seconds);
const MOST = Math.max(...LEVELS);
/** Each cold creation, or the floor's, takes both cores for a second: fifty at once would measure the queue. */
const COLD_AT_ONCE_MAX = 10;
/** Single creations per round: a median of fewer is that of programs that have just started. */
const ALONE_TIMES = 10;
const FILE_BYTES = 1024 * 1024;
const PREPARED_MS_MAX = 120_000;
const LOOK_AGAIN_MS = 100;
const UNLIMITED = {
  SWITCHYARD_COMPUTERS: 'on',
  SWITCHYARD_MAX_COMPUTERS: '200',
  SWITCHYARD_IDLE_STOP_MINUTES: '60',
  SWITCHYARD_CPU_OVERCOMMIT: '64',
  SWITCHYARD_MEMORY_OVERCOMMIT: '16',
};

const rows: Record<string, Figures> = {};
function note(what: string, figures: Figures): void {
  rows[what] = figures;
  const ms = (value: number) => value.toFixed(1).padStart(8);
  const { p50, p95, p99, count, perSecond } = figures;
  console.log(
    `${what.padEnd(46)} p50 ${ms(p50)}  p95 ${ms(p95)}  p99 ${ms(p99)} ms  ${perSecond.toFixed(1).padStart(7)}/s  n ${count}`,
  );
}

const pooled = await startMeasuredStack({
  env: { ...UNLIMITED, SWITCHYARD_WARM_POOL: String(Math.min(MOST, 64)) },
});
try {
  await throughHttp(pooled);
} finally {
  await pooled.stop();
}
const cold = await startMeasuredStack({ env: { ...UNLIMITED, SWITCHYARD_WARM_POOL: '0' } });
try {
  const client = new ComputerClient(cold);
  await untilPrepared(client);
  // While a stack is up: its end stops an engine that it started. This stack has no pool to refill meanwhile.
  await floor();
  for (const level of LEVELS.filter((one) => one <= COLD_AT_ONCE_MAX))
    await creations(client, 'cold create to first command done', level, async () => {});
} finally {
  await cold.stop();
}
judge();

/** On a busy machine a stack serves before its host is prepared. */
async function untilPrepared(client: ComputerClient): Promise<void> {
  const giveUpAt = performance.now() + PREPARED_MS_MAX;
  for (;;) {
    const { status, body } = await client.attempt('POST', '/v1/computers', {});
    if (status === 201) return void (await client.remove(body as Computer));
    if (performance.now() > giveUpAt)
      throw new Error(`the host takes no computers: ${status} ${JSON.stringify(body)}`);
    await delay(LOOK_AGAIN_MS);
  }
}

async function throughHttp(stack: TestStack): Promise<void> {
  const client = new ComputerClient(stack);
  await untilPrepared(client);
  const poolIsFull = () => waitingContainers(stack, Math.min(MOST, 64));
  for (const level of LEVELS)
    await creations(client, 'pooled create to first command done', level, poolIsFull);

  await poolIsFull();
  const computers = await atOnce(MOST, () => client.create());
  const file = await storeFile(stack, randomFile(FILE_BYTES));
  for (const level of LEVELS) {
    const some = computers.slice(0, level);
    await execs(client, some, level);
    const uploads: number[] = [];
    const seconds = await lasting(async () => {
      for (let round = 0; round < ROUNDS * 3; round++)
        await Promise.all(some.map((one) => timed(uploads, () => client.upload(one, file))));
    });
    note(`upload of 1 MB, ${level} at once`, figuresOf(uploads, seconds));
    await stopsAndStarts(client, some, level, poolIsFull);
  }
  await Promise.all(computers.map((one) => client.remove(one)));
}

async function creations(
  client: ComputerClient,
  what: string,
  level: number,
  ready: () => Promise<void>,
): Promise<void> {
  const times: number[] = [];
  let seconds = 0;
  for (let round = 0; round < (level === 1 ? ROUNDS * ALONE_TIMES : ROUNDS); round++) {
    await ready();
    const made: Computer[] = [];
    seconds += await lasting(() =>
      atOnce(level, () =>
        timed(times, async () => {
          const computer = await client.create();
          made.push(computer);
          await client.exec(computer, 'true');
        }),
      ),
    );
    await Promise.all(made.map((one) => client.remove(one)));
  }
  note(`${what}, ${level} at once`, figuresOf(times, seconds));
}

/** Each computer has one caller, who runs one command after the other. */
async function execs(client: ComputerClient, computers: Computer[], level: number): Promise<void> {
  const times: number[] = [];
  await Promise.all(computers.map((one) => client.exec(one, 'true')));
  const until = performance.now() + EXEC_SECONDS * 1_000;
  const seconds = await lasting(() =>
    Promise.all(
      computers.map(async (one) => {
        while (performance.now() < until) await timed(times, () => client.exec(one, 'true'));
      }),
    ),
  );
  note(`exec of true, ${level} at once`, figuresOf(times, seconds));
}

async function stopsAndStarts(
  client: ComputerClient,
  computers: Computer[],
  level: number,
  poolIsFull: () => Promise<void>,
): Promise<void> {
  const stops: number[] = [];
  const starts: number[] = [];
  let stopSeconds = 0;
  let startSeconds = 0;
  for (let round = 0; round < (level === 1 ? ROUNDS * 3 : 1); round++) {
    stopSeconds += await lasting(() =>
      Promise.all(computers.map((one) => timed(stops, () => client.stop(one)))),
    );
    await poolIsFull();
    startSeconds += await lasting(() =>
      Promise.all(computers.map((one) => timed(starts, () => client.start(one)))),
    );
  }
  note(`stop, ${level} at once`, figuresOf(stops, stopSeconds));
  note(`start of a stopped one, ${level} at once`, figuresOf(starts, startSeconds));
}

async function floor(): Promise<void> {
  const docker = new DockerFloor();
  for (const level of LEVELS.filter((one) => one <= COLD_AT_ONCE_MAX)) {
    const creates: number[] = [];
    const runs: number[] = [];
    let seconds = 0;
    let runSeconds = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const made: string[] = [];
      seconds += await lasting(() =>
        atOnce(level, () =>
          timed(creates, async () => {
            const container = await docker.create();
            made.push(container);
            await docker.exec(container);
          }),
        ),
      );
      runSeconds += await lasting(() =>
        Promise.all(
          made.map(async (one) => {
            for (let time = 0; time < 5; time++) await timed(runs, () => docker.exec(one));
          }),
        ),
      );
      await Promise.all(made.map((one) => docker.remove(one)));
    }
    note(`floor: dockerode create and exec, ${level} at once`, figuresOf(creates, seconds));
    note(`floor: dockerode exec of true, ${level} at once`, figuresOf(runs, runSeconds));
  }
}

/** The goals of the project, each with what was measured. */
function judge(): void {
  const p50 = (what: string) => rows[what]?.p50 ?? Number.NaN;
  const exec = p50('exec of true, 1 at once');
  const floorExec = p50('floor: dockerode exec of true, 1 at once');
  const goals: [string, number, number][] = [
    ['exec p50, ms, at most', exec, 6],
    ['exec p50 as a share of dockerode’s, at most', exec / floorExec, 0.1],
    [
      'pooled create to first command p50, ms, at most',
      p50('pooled create to first command done, 1 at once'),
      25,
    ],
    ['start of a stopped one p50, ms, at most', p50('start of a stopped one, 1 at once'), 40],
  ];
  console.log('');
  for (const [goal, measured, most] of goals)
    console.log(`${measured <= most ? 'reached ' : 'MISSED  '} ${goal} ${most}: ${measured.toFixed(2)}`);
  const rate = rows[`exec of true, ${MOST} at once`]?.perSecond ?? Number.NaN;
  console.log(
    `${rate >= 300 ? 'reached ' : 'MISSED  '} execs a second over ${MOST}, at least 300: ${rate.toFixed(0)}`,
  );
}

async function lasting(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}
