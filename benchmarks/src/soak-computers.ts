// `npm run soak:computers`: computers of mixed sizes on this machine with random commands, faults and bombs. Goals: every
// neighbour's exec p95 stays under 3 times what it is in a calm phase before, the agent's memory is flat, the ledger has
// exactly the minutes that ran, nothing wrong is answered and nothing is left behind. Exits 1 when one is missed.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { startStack } from '@switchyard/testing';
import { runSoak, type SoakReport, soakSettings } from './soak/soak.ts';

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
const SLOPE_MIB_A_MINUTE_MAX = 2;
const LINES_SHOWN_MAX = 20;

const computers = Number(values.computers);
const stack = await startStack({ env: soakSettings(computers) });
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
function judge({ calm, storm, faults, counts, memory, account, wrong, leftBehind }: SoakReport): boolean {
  const p95s = storm.map(({ p95 }) => p95).toSorted((a, b) => a - b);
  const [middle, worst] = [p95s[p95s.length >> 1] ?? Number.NaN, p95s.at(-1) ?? Number.NaN];
  const p50s = storm.map(({ p50 }) => p50).toSorted((a, b) => a - b);
  say(
    `storm: true p50 ${p50s[p50s.length >> 1]?.toFixed(1)} ms, p95 ${middle.toFixed(1)} ms for the middle neighbour, ` +
      `${worst.toFixed(1)} ms for the worst; n ${storm.reduce((sum, { count }) => sum + count, 0)}`,
  );
  say(
    `${counts.commands} commands (${counts.triedAgain} tried again), ${counts.bombs} bombs, ${counts.restarts} restarts; ` +
      `${faults.kills} agents killed (the longest gap ${faults.longestOutageMs.toFixed(0)} ms), ` +
      `${faults.removals} containers removed; load ${loadavg()[0]?.toFixed(1)}`,
  );
  say(
    `agent: ${memory.firstMiB.toFixed(1)} MiB, ${memory.minutes.toFixed(1)} minutes later ${memory.lastMiB.toFixed(1)}, ` +
      `at most ${memory.mostMiB.toFixed(1)}`,
  );
  say(
    `bill: ${account.minutes} minutes in ${account.runs} runs of ${storm.length} neighbours and the bombers`,
  );
  for (const line of [...account.differences, ...wrong, ...leftBehind].slice(0, LINES_SHOWN_MAX))
    say(`  ${line}`);
  say('');
  const verdicts = [
    verdict(
      worst / calm.p95 < RATIO_MAX,
      `every neighbour’s exec p95 under ${RATIO_MAX} times the calm one`,
      [`worst ${(worst / calm.p95).toFixed(2)}, middle ${(middle / calm.p95).toFixed(2)}`],
    ),
    verdict(
      memory.slope <= SLOPE_MIB_A_MINUTE_MAX,
      `agent’s memory flat (at most ${SLOPE_MIB_A_MINUTE_MAX} MiB a minute)`,
      [`slope ${memory.slope.toFixed(2)} MiB a minute`],
    ),
    verdict(account.differences.length === 0, 'records, events, ledger and stopwatch agree on every minute', [
      `${account.differences.length} differences`,
    ]),
    verdict(wrong.length === 0, 'no wrong answer', [`${wrong.length}`]),
    verdict(leftBehind.length === 0, 'nothing left behind', [`${leftBehind.length}`]),
  ];
  return verdicts.every((reached) => reached);
}

function verdict(reached: boolean, goal: string, measured: readonly string[]): boolean {
  say(`${reached ? 'reached ' : 'MISSED  '} ${goal}: ${measured.join(', ')}`);
  return reached;
}
