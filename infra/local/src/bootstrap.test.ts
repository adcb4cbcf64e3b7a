/** The entry point on a fresh clone, over a minimal clone: an npm and a Node that only print their arguments. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { ROOT } from './config.ts';

const LOCK = {
  packages: {
    '': { name: 'clone' },
    'libs/one': { version: '1.0.0' },
    'node_modules/one': { resolved: 'libs/one', link: true },
    'node_modules/two': { version: '2.0.0', integrity: 'sha512-two' },
    'node_modules/for-another-platform': { version: '1.0.0', optional: true },
  },
};
const IN_STEP = {
  packages: {
    'node_modules/one': { resolved: 'libs/one', link: true },
    'node_modules/two': { version: '2.0.0', integrity: 'sha512-two' },
  },
};
const OUT_OF_STEP = { packages: { ...IN_STEP.packages, 'node_modules/two': { version: '1.9.0' } } };

async function write(file: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  await chmod(file, mode);
}

/** A clone with our bootstrap; `record` is npm's record of its node_modules. */
async function clone({ record, npm = '' }: { record?: object; npm?: string }) {
  const root = await temporaryFolder();
  await write(join(root, 'package-lock.json'), JSON.stringify(LOCK));
  await mkdir(join(root, 'infra', 'local'), { recursive: true });
  await copyFile(
    join(ROOT, 'infra', 'local', 'bootstrap.mjs'),
    join(root, 'infra', 'local', 'bootstrap.mjs'),
  );
  const node = `#!/bin/sh
[ "$1" = --version ] && { echo v24.0.0; exit; }
[ "$2" = wait ] && trap 'echo drained; exit 0' TERM
echo "node runs $(basename "$1") $2"
[ "$2" = wait ] && while :; do sleep 0.02; done
exit 7
`;
  if (record) {
    await write(join(root, 'node_modules', '.package-lock.json'), JSON.stringify(record));
    await write(join(root, 'node_modules', '.bin', 'node'), node, 0o755);
  }
  const fakeNpm = join(root, 'npm.js');
  await write(fakeNpm, `console.log('npm runs', process.argv[2]); ${npm}`);
  return (...args: string[]) => {
    const child = spawn(process.execPath, [join(root, 'infra', 'local', 'bootstrap.mjs'), ...args], {
      env: { ...process.env, npm_execpath: fakeNpm },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { child, end: end(child) };
  };
}

async function end(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

test('with current node_modules nothing is installed; the program gets the arguments and gives its code', async () => {
  const run = await clone({ record: IN_STEP });
  expect(await run('test', 'libs/money').end).toEqual({ code: 7, output: 'node runs test.ts libs/money\n' });
});

test.each([
  ['is missing', undefined],
  ['is of another state of the lock file', OUT_OF_STEP],
])('where node_modules %s it is installed by npm ci; a failure is shown with a fix', async (_, record) => {
  const run = await clone({
    ...(record && { record }),
    npm: `console.error('no such registry'); process.exit(1)`,
  });
  const { code, output } = await run('start').end;
  expect(code).toBe(1);
  expect(output).toContain('npm runs ci');
  expect(output).toContain('no such registry');
  expect(output).toContain('Fix: ');
});

test('a Node that is missing because install scripts are disabled is an error that names the fix', async () => {
  const run = await clone({ npm: 'process.exit(0)' });
  const { code, output } = await run('start').end;
  expect(code).toBe(1);
  expect(output).toContain('npm rebuild node');
});

test('a signal reaches the program, which drains', async () => {
  const run = await clone({ record: IN_STEP });
  const { child, end: ended } = run('start', 'wait');
  await once(child.stdout!, 'data');
  child.kill('SIGTERM');
  expect(await ended).toEqual({ code: 0, output: 'node runs start.ts wait\ndrained\n' });
});

test('anything but start and test is refused', async () => {
  const run = await clone({});
  expect(await run('deploy').end).toMatchObject({ code: 1, output: expect.stringContaining('start|test') });
});
