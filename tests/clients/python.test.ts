// Our Python client on the full stack: its own tests, its README, and its types.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runCommand } from '@switchyard/local';
import { docker, startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from '../__fixtures__/first-computer.ts';
import { type PythonEnvironment, startPython } from './python-environment.ts';

const PACKAGE = join(ROOT, 'clients', 'python');
/** Some 30 s of processor time in one program. */
const TEST_MS_MAX = 600_000;
const RUN_TIMEOUT_MS = TEST_MS_MAX - 20_000;
const withComputers = (await docker()) !== undefined;
const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
const [computers = '', asynchronous = '', models = '', events = ''] = [
  ...readme.matchAll(/```py\n(.*?)```/gs),
].map(([, code]) => code ?? '');

let stack: TestStack;
let folder: string;
let python: PythonEnvironment;

beforeAll(async () => {
  folder = await temporaryFolder('python');
  const env = { SWITCHYARD_COMPUTERS: withComputers ? 'on' : 'off', SWITCHYARD_WARM_POOL: '1' };
  python = await startPython(folder);
  stack = await startStack({ env });
  if (withComputers) await untilComputers(stack);
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the output. @throws CommandError with it when Python fails */
async function run(...args: string[]): Promise<string> {
  const env = { ...process.env, ...python.env, SWITCHYARD_URL: stack.url, SWITCHYARD_KEY: stack.key };
  const options = { cwd: PACKAGE, env, timeoutMs: RUN_TIMEOUT_MS, wholeOutput: true };
  return (await runCommand(python.program, args, options)).stdout;
}

test('endpoints, errors, retries and terminals are as its tests say', async () => {
  const files = ['tests/test_api.py', 'tests/test_async_api.py', 'tests/test_terminal.py'];
  expect(await run('-m', 'pytest', ...files)).toMatch(/\d+ passed/);
});

test.skipIf(!withComputers)('computers are as its tests say', { timeout: TEST_MS_MAX }, async () => {
  expect(await run('-m', 'pytest', 'tests/test_computer.py', 'tests/test_async_computer.py')).toMatch(
    /\d+ passed/,
  );
});

test.skipIf(!withComputers)('the README runs its example of computers', async () => {
  expect(await run('-c', computers)).toBe('6 * 7 = 42\n 0\n1\n2\n3\n');
});

test.skipIf(!withComputers)('the README runs its example of the asynchronous client', async () => {
  expect(await run('-c', asynchronous)).toMatch(/^42 .*42/s);
});

test('the README runs its example of models', async () => {
  expect(await run('-c', models)).toMatch(/42.* [\d.e-]+\n.*42\nfile_not_found 404 req_/s);
});

test('the README runs its example of a stream', async () => {
  expect(await run('-c', models)).toContain('42');
  expect(await run('-c', events)).toMatch(/^(call\.\w+ [\d.]+\n){2}$/);
});

test('the package, its tests and its generator pass mypy --strict', { timeout: TEST_MS_MAX }, async () => {
  expect(await run('-m', 'mypy', '--cache-dir', join(folder, 'mypy'))).toMatch(/^Success/);
});
