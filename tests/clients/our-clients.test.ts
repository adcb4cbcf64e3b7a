// Our own clients against the whole: the TypeScript client, its README, and `docs/clients.md`.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Computer, dataOf, Switchyard, type SwitchyardError } from '@switchyard/client';
import { docker, startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from '../__fixtures__/first-computer.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const README = await readFile(resolve(ROOT, 'clients/typescript/README.md'), 'utf8');
const RUN_TIMEOUT_MS = 110_000;
const LARGE_BYTES = 3 * 1024 * 1024;
const withComputers = (await docker()) !== undefined;

let stack: TestStack;
let sy: Switchyard;

beforeAll(async () => {
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: withComputers ? 'on' : 'off', SWITCHYARD_WARM_POOL: '1' },
  });
  sy = new Switchyard({ url: stack.url, apiKey: stack.key });
  if (withComputers) await untilComputers(stack);
}, SET_UP_MS_MAX);
afterAll(() => stack?.stop());

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs Node at the top of the repository, as a user of the stack. */
function runNode(...args: string[]): Promise<Ran> {
  const env = { ...process.env, SWITCHYARD_URL: stack.url, SWITCHYARD_KEY: stack.key };
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: ROOT, env, timeout: RUN_TIMEOUT_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      done({ code, stdout, stderr });
    });
  });
}

const failureOf = (call: Promise<unknown>): Promise<SwitchyardError> =>
  call.then(
    () => expect.fail('it did not fail'),
    (error) => error,
  );

describe('the README of the TypeScript client', () => {
  const [computers = '', models = ''] = [...README.matchAll(/```ts\n(.*?)```/gs)].map(
    ([, code]) => code ?? '',
  );

  test.skipIf(!withComputers)('runs its example of computers', async () => {
    const { stdout, stderr } = await runNode('--input-type=module-typescript', '-e', computers);
    expect(stdout, stderr).toBe('6 * 7 = 42\n 0\n1\n2\n3\n');
    expect(await sy.computers.list()).toEqual([]);
  });

  test('runs its example of models', async () => {
    const { stdout, stderr } = await runNode('--input-type=module-typescript', '-e', models);
    expect(stdout, stderr).toMatch(/42.* 0\.0000\d+\n.*42/);
  });
});

describe('the TypeScript client', () => {
  test('types and answers endpoints', async () => {
    const { data } = await dataOf(sy.api.GET('/v1/models'));
    expect(data.map(({ id }) => id)).toContain('local/chat');
    const { total } = await dataOf(sy.api.GET('/v1/usage', { params: { query: { group_by: 'model' } } }));
    expect(total.cost).toBeGreaterThanOrEqual(0);
  });

  test('throws errors of the API with code, status and request id', async () => {
    const error = await failureOf(sy.computers.get('cmp_none'));
    expect(error).toMatchObject({ name: 'SwitchyardError', code: 'computer_not_found', status: 404 });
    expect(error.requestId).toMatch(/^req_/);
  });
});

describe.skipIf(!withComputers)('a computer of the TypeScript client', () => {
  let computer: Computer;
  beforeAll(async () => {
    computer = await sy.computers.create({ name: 'tested', cpu: 0.25, memory_mb: 512 });
  }, SET_UP_MS_MAX);
  afterAll(() => computer?.delete());

  test('is found by its id and in the list', async () => {
    expect((await sy.computers.get(computer.id)).name).toBe('tested');
    expect((await sy.computers.list()).map(({ id }) => id)).toContain(computer.id);
    expect(await computer.getInfo()).toMatchObject({ status: 'running', cpu: 0.25 });
  });

  test('resolves commands that fail, with exit code and both outputs merged', async () => {
    const result = await computer.exec('pwd; echo "$WHO" >&2; cat; exit 3', {
      cwd: '/tmp',
      env: { WHO: 'me' },
      stdin: 'read',
    });
    expect(result).toEqual({
      stdout: '/tmp\nme\nread',
      stderr: '',
      exitCode: 3,
      durationMs: expect.any(Number),
    });
  });

  test('yields output while the command runs, bytes that are no text included', async () => {
    const chunks: Buffer[] = [];
    let waited = false;
    for await (const event of computer.execStream(
      `printf 'é\\377'; until [ -e go ]; do sleep 0.05; done; echo end`,
    )) {
      if (event.type === 'output') chunks.push(Buffer.from(event.data));
      if (!waited && event.type === 'output') {
        waited = true;
        await computer.files.write('go', '');
      }
    }
    expect(Buffer.concat(chunks)).toEqual(Buffer.from([0xc3, 0xa9, 0xff, ...Buffer.from('end\n')]));
  });

  test('keeps the output of a command that exceeds its timeout', async () => {
    const error = await failureOf(computer.exec('echo begun; sleep 60', { timeout: 1 }));
    expect(error).toMatchObject({ code: 'command_timed_out', details: { stdout: 'begun\n' } });
  });

  test('ends a command when its stream is left', async () => {
    for await (const event of computer.execStream('echo up; exec sleep 4321'))
      if (event.type === 'output') break;
    const gone = 'while pgrep -f "^sleep 4321" > /dev/null; do sleep 0.05; done';
    expect((await computer.exec(gone)).exitCode).toBe(0);
  });

  test('writes, lists, reads and removes files', async () => {
    const bytes = new Uint8Array(LARGE_BYTES).map((_, index) => index % 251);
    await computer.files.write('data/large.bin', new Blob([bytes]).stream());
    const { sha256 } = await computer.files.write('data/note.txt', 'grüße');
    expect(sha256).toHaveLength(64);
    const entries = await computer.files.list('data');
    expect(entries.map(({ name, bytes: length }) => [name, length])).toEqual([
      ['large.bin', LARGE_BYTES],
      ['note.txt', 7],
    ]);
    expect(await computer.files.read('data/note.txt')).toBe('grüße');
    expect(Buffer.compare(await computer.files.read('data/large.bin', { format: 'bytes' }), bytes)).toBe(0);
    await expect(computer.files.read('data')).rejects.toThrow('data is a folder. Use files.list.');
    await expect(computer.files.list('data/note.txt')).rejects.toThrow(
      'data/note.txt is a file. Use files.read.',
    );
    await computer.files.remove('data', { recursive: true });
    expect(await failureOf(computer.files.read('data/note.txt'))).toMatchObject({ code: 'path_not_found' });
  });

  test('gives a link to a port that needs no key', async () => {
    const serve =
      '(python3 -m http.server 8000 > /dev/null 2>&1 &); until curl -sf localhost:8000; do sleep 0.1; done';
    await computer.files.write('page.txt', 'served');
    await computer.exec(serve);
    const { url, expiresAt } = await computer.ports.link(8000, { minutes: 5 });
    expect(await (await fetch(`${url}page.txt`)).text()).toBe('served');
    expect(expiresAt.getTime()).toBeGreaterThan(Date.now());
  });

  test('opens a terminal with a size that changes, and tells how the shell ended', async () => {
    await using terminal = await computer.terminal({ cols: 100, rows: 30 });
    const output = terminal[Symbol.asyncIterator]();
    let shown = '';
    const until = async (pattern: RegExp) => {
      while (!pattern.test(shown)) {
        const { value, done } = await output.next();
        if (done) expect.fail(`the terminal ended after: ${shown}`);
        shown += Buffer.from(value).toString();
      }
    };
    terminal.write('stty size\n');
    await until(/30 100/);
    terminal.resize({ cols: 132, rows: 50 });
    terminal.write('stty size\n');
    await until(/50 132/);
    terminal.write('exit 7\n');
    expect(await terminal.exitCode).toBe(7);
  });

  test('stops, refuses commands, and starts with its files', async () => {
    await computer.stop();
    expect(await failureOf(computer.exec('true'))).toMatchObject({
      code: 'computer_not_running',
      status: 409,
    });
    await computer.start();
    expect(await computer.files.read('page.txt')).toBe('served');
  });
});
