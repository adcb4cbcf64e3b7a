// `npm run soak:computers`: computers of mixed sizes on this machine with random commands, faults and bombs. Goals: every
// neighbour's exec p95 stays under 3 times what it is in a calm phase before, the agent's memory is flat, the ledger has
// exactly the minutes that ran, nothing wrong is answered and nothing is left behind. Exits 1 when one is missed.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { goBeforeOthers } from '@switchyard/local';
import { startStack } from '@switchyard/testing';
import { median } from './figures.ts';
import { longestMs } from './soak/faults.ts';
import { runSoak, type SoakReport, type Summary, soakSettings } from './soak/soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    computers: { type: 'string', default: '50' },
    /** Default: a tenth of the computers. */
    bombers: { type: 'string' },
    'calm-seconds': { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});
const RATIO_MAX = 3;
/** On a machine with both hands full; alone it is 2.4 s for forks. */
const BOMB_OVER_MS_MAX = 10_000;
const SLOPE_MIB_A_MINUTE_MAX = 2;
const LINES_SHOWN_MAX = 20;
const NOBODY: Summary = { p50: Number.NaN, p95: Number.NaN, count: 0 };

const computers = Number(values.computers);
const stack = await startStack({ env: soakSettings(computers) });
// Callers have machines of their own: how long one waits for its turn here is not how long it waits for an answer. Once the
// stack is there, which would take it over.
goBeforeOthers(process.pid);
try {
  say(`load ${loadavg()[0]?.toFixed(1)}, seed ${values.seed}`);
  const report = await runSoak({
    stack,
    computers,
    bombers: values.bombers === undefined ? Math.max(1, Math.round(computers / 10)) : Number(values.bombers),
    calmSeconds: Number(values['calm-seconds']),
    stormSeconds: Number(values.minutes) * 60,
    seed: Number(values.seed),
    say,
  });
  if (!judge(report)) process.exitCode = 1;
} finally {
  await stack.stop();
}

function say(line: string): void {
  console.log(line);
}

/** Prints what was measured and each goal's verdict; whether all were reached. */
function judge(report: SoakReport): boolean {
  const { calm, calmOfEach, storm, served, faults, counts, memory, account, wrong, leftBehind } = report;
  crowd('calm, neighbours one by one', calmOfEach);
  const worst = crowd('storm', storm);
  crowd('without what waited for a killed agent', served);
  const byOwnCalm = storm.map(({ p95 }, at) => p95 / (calmOfEach[at]?.p95 ?? Number.NaN));
  say(
    `each neighbour’s p95 by its own in the calm: middle ${median(byOwnCalm).toFixed(2)}, ` +
      `worst ${Math.max(...byOwnCalm).toFixed(2)}; the worst by the worst ${(worst.p95 / worstOf(calmOfEach).p95).toFixed(2)}`,
  );
  say(
    `${counts.commands} commands (${counts.triedAgain} tried again), ${counts.bombs} bombs, ${counts.restarts} restarts; ` +
      `${faults.outages.length} agents killed (the longest gap ${longestMs(faults.outages).toFixed(0)} ms), ` +
      `${faults.removals} containers removed; load ${loadavg()[0]?.toFixed(1)}`,
  );
  say(
    `agent: ${memory.firstMiB.toFixed(1)} MiB, ${memory.minutes.toFixed(1)} minutes later ${memory.lastMiB.toFixed(1)}, ` +
      `at most ${memory.mostMiB.toFixed(1)}; held ${memory.heldMiB.map((mib) => mib.toFixed(0)).join(' ')}`,
  );
  say(
    `bill: ${account.minutes} minutes in ${account.runs} runs of ${storm.length} neighbours and the bombers`,
  );
  for (const line of [...account.differences, ...wrong, ...leftBehind].slice(0, LINES_SHOWN_MAX))
    say(`  ${line}`);
  say('');
  const verdicts = [
    verdict(
      worst.p95 / calm.p95 < RATIO_MAX,
      `every neighbour’s exec p95 under ${RATIO_MAX} times the calm one`,
      [
        `worst ${(worst.p95 / calm.p95).toFixed(2)}, middle ${(middleOf(storm).p95 / calm.p95).toFixed(2)}, ` +
          `worst without outages ${(worstOf(served).p95 / calm.p95).toFixed(2)}`,
      ],
    ),
    verdict(
      memory.slope <= SLOPE_MIB_A_MINUTE_MAX,
      `agent’s memory flat (at most ${SLOPE_MIB_A_MINUTE_MAX} MiB a minute)`,
      [
        `slope ${memory.slope.toFixed(2)} MiB a minute, with what passes through ${memory.slopeOfAll.toFixed(2)}`,
      ],
    ),
    verdict(
      report.longestBombOverMs <= BOMB_OVER_MS_MAX,
      `every bomb at an end ${BOMB_OVER_MS_MAX / 1_000} s after its timeout`,
      [`the slowest ${(report.longestBombOverMs / 1_000).toFixed(1)} s`],
    ),
    verdict(account.differences.length === 0, 'records, events, ledger and stopwatch agree on every minute', [
      `${account.differences.length} differences`,
    ]),
    verdict(wrong.length === 0, 'no wrong answer', [`${wrong.length}`]),
    verdict(leftBehind.length === 0, 'nothing left behind', [`${leftBehind.length}`]),
  ];
  return verdicts.every((reached) => reached);
}

/** Says how a crowd of neighbours fared; the one who fared worst. */
function crowd(what: string, summaries: readonly Summary[]): Summary {
  const [middle, worst] = [middleOf(summaries), worstOf(summaries)];
  const count = summaries.reduce((sum, one) => sum + one.count, 0);
  say(
    `${what}: true p50 ${middle.p50.toFixed(1)} ms, p95 ${middle.p95.toFixed(1)} ms for the middle neighbour, ` +
      `${worst.p95.toFixed(1)} ms for the worst; n ${count}`,
  );
  return worst;
}

function middleOf(summaries: readonly Summary[]): Summary {
  return byP95(summaries)[summaries.length >> 1] ?? NOBODY;
}

function worstOf(summaries: readonly Summary[]): Summary {
  return byP95(summaries).at(-1) ?? NOBODY;
}

function byP95(summaries: readonly Summary[]): Summary[] {
  return summaries.toSorted((a, b) => a.p95 - b.p95);
}

function verdict(reached: boolean, goal: string, measured: readonly string[]): boolean {
  say(`${reached ? 'reached ' : 'MISSED  '} ${goal}: ${measured.join(', ')}`);
  return reached;
}
