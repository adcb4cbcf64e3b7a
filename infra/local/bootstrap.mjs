/**
 * Entry point of `npm start` and `npm test` on a fresh clone. It needs only the machine's own Node (20 or newer).
 * It installs what package-lock.json lists, then runs src/start.ts or src/test.ts with the Node from node_modules.
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
    'Fix: remove `ignore-scripts` from your npm settings, then run `npm rebuild node` in this folder.',
  );
}
await handOver();

/** Whether node_modules matches package-lock.json, by npm's own record of the folder. */
function isInStep() {
  const record = join(ROOT, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) return true;
    const found = present[path];
    // npm leaves out optional packages for other platforms.
    if (found === undefined) return entry.optional === true || entry.devOptional === true;
    return (
      found.link === entry.link && found.version === entry.version && found.integrity === entry.integrity
    );
  });
}

/** Runs `npm ci`, quiet unless it fails. A failure ends the process with npm's error output. */
async function install() {
  const started = Date.now();
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(0)} s`;
  console.log('npm packages     installing with npm ci; takes about half a minute, only after a change');
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
      'Fix: check that npm reaches its registry (`npm ping`), then run this command again.',
    );
  }
  console.log(`npm packages     installed in ${seconds()}`);
}

function hasNode() {
  if (!existsSync(NODE)) return false;
  const { stdout } = spawnSync(NODE, ['--version'], { encoding: 'utf8' });
  return stdout?.startsWith(`v${NODE_MAJOR}.`) === true;
}

/** Runs the program on this terminal, forwards signals to it and exits with its code. */
async function handOver() {
  const path = [join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(':');
  // Registered before `spawn`, so that no signal ends this process and leaves the child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Ctrl-C in a terminal reaches the child directly too; the child ignores the second signal.
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
