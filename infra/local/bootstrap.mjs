/**
 * The way in for `npm start` and `npm test` on a fresh clone. It runs on the machine's own Node (18 or newer) with
 * nothing installed: it brings node_modules in step with package-lock.json, then hands over to the Node that the
 * lock file names (the npm package `node`), which runs src/start.ts or src/test.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const NODE = join(ROOT, 'node_modules', '.bin', 'node');
const NODE_MAJOR = 24;
const PROGRESS_EVERY_MS = 10_000;
const ERROR_LINES_SHOWN_MAX = 20;
const PROGRAMS = { start: 'infra/local/src/start.ts', test: 'infra/local/src/test.ts' };

const [task, ...args] = process.argv.slice(2);
const program = PROGRAMS[task];
if (program === undefined) fail(`Usage: node infra/local/bootstrap.mjs ${Object.keys(PROGRAMS).join('|')}`);

if (!isInStep()) await install();
if (!hasNode()) {
  fail(
    `node_modules/.bin/node is not Node ${NODE_MAJOR}: its install script did not run.`,
    'Mend: run `npm rebuild node` in this folder, with scripts allowed (no `ignore-scripts` in your npm settings).',
  );
}
await handOver();

/** Whether node_modules holds what package-lock.json asks for: npm's own record of the folder says so. */
function isInStep() {
  const record = join(ROOT, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) return true;
    const found = present[path];
    // Optional packages of other platforms are left out by npm.
    if (found === undefined) return entry.optional === true || entry.devOptional === true;
    return (
      found.link === entry.link && found.version === entry.version && found.integrity === entry.integrity
    );
  });
}

/** `npm ci`, quiet unless it fails. Rejects nothing: a failure ends the process with npm's own last words. */
async function install() {
  const started = Date.now();
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(0)} s`;
  console.log('npm packages     installing (npm ci); about half a minute, only after a change');
  const progress = setInterval(
    () => console.log(`npm packages     still installing, ${seconds()}`),
    PROGRESS_EVERY_MS,
  );
  const npm = process.env.npm_execpath;
  const flags = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const child = npm?.endsWith('.js')
    ? spawn(process.execPath, [npm, ...flags], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    : spawn('npm', flags, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => lines.push(...text.split('\n').filter(Boolean)));
  }
  const code = await new Promise((resolve) => {
    child.on('error', (error) => {
      lines.push(error.message);
      resolve(1);
    });
    child.on('close', resolve);
  });
  clearInterval(progress);
  if (code !== 0) {
    fail(
      ...lines.slice(0, ERROR_LINES_SHOWN_MAX),
      `npm packages: npm ci failed after ${seconds()}.`,
      'Mend: see that the npm registry can be reached (`npm ping`), then run this command again.',
    );
  }
  console.log(`npm packages     installed in ${seconds()}`);
}

function hasNode() {
  if (!existsSync(NODE)) return false;
  const { stdout } = spawnSync(NODE, ['--version'], { encoding: 'utf8' });
  return stdout?.startsWith(`v${NODE_MAJOR}.`) === true;
}

/** Runs the program in our stead: same terminal, its exit code ours, signals passed on. */
async function handOver() {
  const path = [join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(':');
  // Before the child is there: it may be heard of, and we be told to stop, before `spawn` returns. No handler runs until then.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal's Ctrl-C reaches the child by itself as well: the child takes the second for the same wish.
    process.on(signal, () => child.kill(signal));
  }
  const child = spawn(NODE, [join(ROOT, program), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  });
  child.on('error', (error) => fail(`${NODE}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1;
    if (signal) console.error(`Ended by ${signal}.`);
  });
}

function fail(...lines) {
  for (const line of lines) console.error(line);
  process.exit(1);
}
