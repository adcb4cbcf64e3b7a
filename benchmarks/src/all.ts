// `npm run bench`: runs every benchmark in its short form and writes benchmarks/RESULTS.md from what they print. The
// summary of the model calls also goes into the README. With `-- --only`, the other sections stay as they are.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, loadavg, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { ROOT, runCommand } from '@switchyard/local';
import { mergeResults } from './results-file.ts';

const { values } = parseArgs({ options: { only: { type: 'string' } } });

interface Benchmark {
  readonly script: string;
  readonly title: string;
  readonly args: readonly string[];
  /** Its output is Markdown; otherwise it is shown as it is. */
  readonly isMarkdown?: true;
}

const BENCHMARKS: readonly Benchmark[] = [
  {
    script: 'bench:models',
    title: 'Model calls beside peers',
    args: ['--rounds', '3', '--seconds', '2'],
    isMarkdown: true,
  },
  {
    script: 'bench:scaling',
    title: 'How cost grows',
    args: ['--rounds', '3', '--rows', '100000'],
    isMarkdown: true,
  },
  { script: 'bench:limits', title: 'Limits, overload and fairness', args: [] },
  { script: 'bench:billing', title: 'Billing: events booked', args: [] },
  { script: 'bench:computers', title: 'Computers', args: ['--rounds', '1', '--seconds', '2'] },
  {
    script: 'soak:computers',
    title: 'Bombs beside neighbours',
    args: ['--minutes', '2', '--computers', '50'],
  },
];
const RESULTS = join(ROOT, 'benchmarks', 'RESULTS.md');
const README = join(ROOT, 'README.md');
/** The table in the README, and the one in the output of `bench:models`. */
const README_TABLE = /(?<=<!-- npm run bench -->\n).*?(?=<!-- end -->)/s;
const SUMMARY = /(?<=### Summary\n\n).*?\n(?=\n)/s;
const INTRODUCTION = `# Benchmark results

Written by \`npm run bench\`; nothing here is typed by hand. What each benchmark measures: [README.md](README.md). Machines
are shared and noisy: compare ratios within one table.`;
const GIB = 1_024 ** 3;
const GIT_MS_MAX = 10_000;

const fresh = new Map<string, string>();
const place = `commit ${await commit()}, ${await machine()}`;
for (const benchmark of BENCHMARKS) {
  const { script, title, args, isMarkdown } = benchmark;
  if (values.only !== undefined && !values.only.split(',').includes(script)) continue;
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const load = loadavg()[0]?.toFixed(1);
  const began = performance.now();
  console.log(`\n== ${script}\n`);
  const { output, code } = await run(benchmark);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  const shown = isMarkdown ? output.trim() : `\`\`\`text\n${output.trim()}\n\`\`\``;
  const failed = code === 0 ? '' : `\n\n**It failed with exit code ${code}.**`;
  const command = `\`npm run ${script}${args.length > 0 ? ` -- ${args.join(' ')}` : ''}\``;
  fresh.set(
    title,
    `${command}, ${seconds} s; load average before it ${load}.\n${date} UTC, ${place}.\n\n${shown}${failed}`,
  );
  const [summary] = SUMMARY.exec(output) ?? [];
  if (summary && code === 0) await showInReadme(summary);
}
const titles = BENCHMARKS.map(({ title }) => title);
const earlier = await readFile(RESULTS, 'utf8').catch(() => '');
await writeFile(RESULTS, mergeResults({ introduction: INTRODUCTION, titles, fresh, earlier }));
console.log(`\nwritten to ${RESULTS}`);

async function run({ script, args }: Benchmark): Promise<{ output: string; code: number }> {
  const child = spawn('npm', ['run', '--silent', script, '--', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.pipe(process.stdout, { end: false });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { output, code: code ?? 1 }; // null: it was killed
}

async function showInReadme(table: string): Promise<void> {
  const text = await readFile(README, 'utf8');
  await writeFile(
    README,
    text.replace(README_TABLE, () => table),
  );
}

async function commit(): Promise<string> {
  return runCommand('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: ROOT,
    env: process.env,
    timeoutMs: GIT_MS_MAX,
  }).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
}

async function machine(): Promise<string> {
  const memory = (totalmem() / GIB).toFixed(0);
  const os = /PRETTY_NAME="(.*)"/.exec(await readFile('/etc/os-release', 'utf8').catch(() => ''))?.[1];
  return `${cpus().length} × ${cpus()[0]?.model}, ${memory} GiB, ${os ?? platform()} ${arch()}, Node.js ${process.version}`;
}
