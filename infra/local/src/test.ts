/**
 * `npm test [-- <vitest's arguments>]`: types and style, then every test against real servers, which it finds or
 * starts as `npm start` does. The last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './config.ts';
import { createProgress } from './progress.ts';
import { CommandError, runCommand } from './run-command.ts';
import { SetupError } from './setup-error.ts';
import { countTests, isSuccess, outcomeLine, type TestOutcome } from './test-outcome.ts';
import { createTestServers, type TestServers } from './test-servers.ts';

const CHECK_TIMEOUT_MS = 5 * 60_000;
const BIN = join(ROOT, 'node_modules', '.bin');

const progress = createProgress((line) => console.log(line));
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort());
const untilInterrupted = once(interrupted.signal, 'abort').then((): never => {
  throw new Error('Interrupted.');
});

const folder = await mkdtemp(join(tmpdir(), 'switchyard-test-'));
const servers = createTestServers({ env: process.env, folder: join(folder, 'servers'), progress });
const tests = run(process.argv.slice(2), servers);
const outcome = await Promise.race([tests, untilInterrupted]).catch(failure);
await servers.stop();
await rm(folder, { recursive: true, force: true });
if (outcome.passed + outcome.failed === 0) console.log('No test ran, so this run failed.');
console.log(outcomeLine(outcome));
process.exit(isSuccess(outcome) ? 0 : 1);

async function run(args: readonly string[], testServers: TestServers): Promise<TestOutcome> {
  const [env] = await Promise.all([testServers.start(), check('types', 'tsc', ['--noEmit'])]);
  await check('types of the console', 'tsc', ['-p', 'services/console']);
  await check('style', 'biome', ['check', '.']);
  return runTests(args, env);
}

async function check(name: string, program: string, args: readonly string[]): Promise<void> {
  await progress.step(
    name,
    () => runCommand(join(BIN, program), args, { cwd: ROOT, timeoutMs: CHECK_TIMEOUT_MS, wholeOutput: true }),
    () => `${program} ${args.join(' ')} found no problem`,
  );
}

async function runTests(args: readonly string[], env: NodeJS.ProcessEnv): Promise<TestOutcome> {
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = spawn(join(BIN, 'vitest'), ['run', '--passWithNoTests', ...reporters, ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  interrupted.signal.addEventListener('abort', () => vitest.kill('SIGTERM'));
  const [code] = await once(vitest, 'exit');
  return countTests(await readFile(report, 'utf8').catch(() => undefined), code ?? 1);
}

/** An error that kept the tests from running counts as one failure. */
function failure(error: unknown): TestOutcome {
  if (error instanceof SetupError) console.error(`${error.message}\nFix: ${error.fix}`);
  else if (error instanceof CommandError || interrupted.signal.aborted)
    console.error((error as Error).message);
  else console.error(error);
  return { passed: 0, failed: 1, skipped: 0 };
}
