// Our own clients on the full stack: the TypeScript client with its README, the command line, and docs/clients.md.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Computer, dataOf, Switchyard, type SwitchyardError } from '@switchyard/client';
import { docker, startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from '../__fixtures__/first-computer.ts';
import { untilBooked } from '../__fixtures__/until-booked.ts';
import { type PythonEnvironment, startPython } from './python-environment.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const README = await readFile(resolve(ROOT, 'clients/typescript/README.md'), 'utf8');
const GUIDE = await readFile(resolve(ROOT, 'docs/clients.md'), 'utf8');
const CLI = resolve(ROOT, 'clients/cli/src/main.ts');
/** A little less than a test has. */
const RUN_TIMEOUT_MS = 280_000;
/** Code of `run` for a program that is missing here. */
const NOT_INSTALLED = -1;
const LARGE_BYTES = 3 * 1024 * 1024;
/** Of a command that writes something and then exceeds it: the start of its shell may take seconds. */
const SHORT_TIMEOUT_S = 10;
const withComputers = (await docker()) !== undefined;

let stack: TestStack;
let sy: Switchyard;
/** Where programs run and leave files: in the repository, so that they find its packages. */
let folder: string;
let python: PythonEnvironment;
/** Programs that `follow` started; some never end by themselves. */
const followed: ChildProcess[] = [];

beforeAll(async () => {
  await mkdir(join(ROOT, 'output'), { recursive: true });
  folder = await mkdtemp(join(ROOT, 'output', 'clients-'));
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: withComputers ? 'on' : 'off', SWITCHYARD_WARM_POOL: '1' },
  });
  python = await startPython(join(folder, 'python'));
  sy = new Switchyard({ url: stack.url, apiKey: stack.key });
  if (withComputers) await untilComputers(stack);
}, SET_UP_MS_MAX);
afterAll(async () => {
  for (const child of followed) child.kill();
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

type Env = Record<string, string | undefined>;

const environment = (more: Env = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
  SWITCHYARD_URL: stack.url,
  SWITCHYARD_KEY: stack.key,
  ...more,
});

/** Runs a program as a user of the stack. */
function run(
  program: string,
  args: string[],
  { env, stdin = '' }: { env?: Env; stdin?: string } = {},
): Promise<Ran> {
  const options = { cwd: folder, env: environment(env), timeout: RUN_TIMEOUT_MS };
  return new Promise((done) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      done({ code, stdout, stderr });
    });
    child.stdin?.on('error', () => {}); // it may end without reading
    child.stdin?.end(stdin);
  });
}

const runModule = (code: string) => run(process.execPath, ['--input-type=module-typescript', '-e', code]);
const switchyard = (args: string[], options?: Parameters<typeof run>[2]) =>
  run(process.execPath, [CLI, ...args], options);

/** Starts a program and waits for what it shows. */
function follow(program: string, args: string[]) {
  const child = spawn(program, args, { cwd: folder, env: environment() });
  followed.push(child);
  let shown = '';
  const output = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  return {
    exited: once(child, 'exit').then(([code]) => code as number),
    type: (text: string) => child.stdin.write(text),
    async until(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(shown);
        if (found !== null) return found;
        const { value, done } = await output.next();
        if (done) expect.fail(`it ended after: ${shown}`);
        shown += value;
      }
    },
  };
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
    const { stdout, stderr } = await runModule(computers);
    expect(stdout, stderr).toBe('6 * 7 = 42\n 0\n1\n2\n3\n');
    expect(await sy.computers.list()).toEqual([]);
  });

  test('runs its example of models', async () => {
    const { stdout, stderr } = await runModule(models);
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
    const error = await failureOf(
      dataOf(sy.api.GET('/v1/files/{id}', { params: { path: { id: 'file_none' } } })),
    );
    expect(error).toMatchObject({ name: 'SwitchyardError', code: 'file_not_found', status: 404 });
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
    expect((await failureOf(sy.computers.get('cmp_none'))).code).toBe('computer_not_found');
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

  test('yields output while the command runs, including non-text bytes', async () => {
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
    const error = await failureOf(computer.exec('echo begun; sleep 60', { timeout: SHORT_TIMEOUT_S }));
    expect(error).toMatchObject({ code: 'command_timed_out', details: { stdout: 'begun\n' } });
    expect(error.requestId).toMatch(/^req_/);
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
    await computer.files.write('data/marked.txt', '\uFEFFa,b');
    expect(await computer.files.read('data/marked.txt')).toBe('\uFEFFa,b');
    expect((await computer.exec('cat data/marked.txt')).stdout).toBe('\uFEFFa,b');
    expect(Buffer.compare(await computer.files.read('data/large.bin', { format: 'bytes' }), bytes)).toBe(0);
    await expect(computer.files.read('data')).rejects.toThrow('data is a folder. Use files.list.');
    await expect(computer.files.list('data/note.txt')).rejects.toThrow(
      'data/note.txt is a file. Use files.read.',
    );
    await computer.files.remove('data', { recursive: true });
    await computer.exec('mkdir many && cd many && seq 10001 | xargs touch');
    await expect(computer.files.list('many')).rejects.toThrow('many has over 10000 entries.');
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

  test('opens a resizable terminal, and reports how the shell ended', async () => {
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

  test('waits for the end of a shell without its output', async () => {
    await using terminal = await computer.terminal();
    terminal.write('seq 100000; exit 7\n');
    expect(await terminal.wait()).toBe(7);
  });

  test('ends a terminal when its output is left in the middle', async () => {
    const terminal = await computer.terminal();
    for await (const _ of terminal) break;
    await expect(terminal.exitCode).rejects.toThrow('The terminal was closed');
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

describe('the command line', () => {
  test('keeps address and key where only its owner reads them, and sends them to no other address', async () => {
    const XDG_CONFIG_HOME = join(folder, 'config');
    const env = { XDG_CONFIG_HOME, SWITCHYARD_URL: undefined, SWITCHYARD_KEY: undefined };
    const file = join(XDG_CONFIG_HOME, 'switchyard', 'config.json');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{}', { mode: 0o644 });
    expect(await switchyard(['models'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Not logged in'),
    });
    const refused = await switchyard(['login', '--url', stack.url], { env, stdin: 'wrong' });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^invalid_api_key: /) });
    const { code, stdout } = await switchyard(['login', '--url', stack.url], {
      env,
      stdin: `${stack.key}\n`,
    });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(`Logged in at ${stack.url}`),
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(dirname(file))).toEqual(['config.json']);
    expect((await switchyard(['models'], { env })).stdout).toMatch(
      /^MODEL +TYPE +AVAILABLE.*local\/chat +language +yes/s,
    );
    const elsewhere = await switchyard(['models'], { env: { ...env, SWITCHYARD_URL: 'http://127.0.0.1:9' } });
    expect(elsewhere.stderr).toContain('Not logged in');
  });

  test('lists models of a type and of a maker, and refuses a type that does not exist', async () => {
    const language = await switchyard(['models', '--type', 'language', '--maker', 'local', '--available']);
    expect(language.stdout).toMatch(/local\/chat/);
    expect(language.stdout).not.toMatch(/local\/image|openai/);
    const none = await switchyard(['models', '--type', 'none']);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/^invalid_request: type: /) });
  });

  test('chats as a stream, from a pipe, and as JSON or in a terminal with the cost', async () => {
    expect(await switchyard(['chat', 'What is', '6 * 7?'])).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('42'),
    });
    expect((await switchyard(['chat'], { stdin: 'What is 6 * 7?' })).stdout).toContain('42');
    const { stdout } = await switchyard(['--json', 'chat', 'What is 6 * 7?']);
    expect(JSON.parse(stdout)).toMatchObject({
      object: 'chat.completion',
      usage: { cost: expect.any(Number) },
    });
    const shown = follow('script', ['-qefc', `${process.execPath} ${CLI} chat 6 times 7`, '/dev/null']);
    await shown.until(/\n\(\$0\.0000\d+\)\r\n/);
    const none = await switchyard(['chat', '-m', 'acme/none', 'hello']);
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^model_not_found: /) });
  });

  test('draws an image into a file, into a pipe, and as JSON with the cost', async () => {
    const kindOf = async (path: string) => (await readFile(join(folder, path))).subarray(1, 4).toString();
    const drawn = await switchyard(['image', 'two red', 'boats', '-o', 'drawn.png', '--size', '256x256']);
    expect(drawn).toEqual({ code: 0, stdout: 'drawn.png\n', stderr: '' });
    expect(await kindOf('drawn.png')).toBe('PNG');
    await run('bash', ['-c', 'echo two red boats | switchyard image > piped.png']);
    expect(await kindOf('piped.png')).toBe('PNG');
    const { stdout } = await switchyard(['image', 'a boat', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ model: 'local/image', usage: { cost: expect.any(Number) } });
    const none = await switchyard(['image', '-m', 'acme/none', '-o', 'none.png', 'a boat']);
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^model_not_found: /) });
    expect(existsSync(join(folder, 'none.png'))).toBe(false);
    const shown = follow('script', ['-qefc', `${process.execPath} ${CLI} image boat`, '/dev/null']);
    await shown.until(/A terminal shows no image\. Add -o <file>\./);
    expect(await shown.exited).toBe(1);
  });

  test('shows usage and logs, and follows calls and events', async () => {
    const logs = follow(process.execPath, [CLI, 'logs', '-f']);
    await switchyard(['chat', 'What is 6 * 7?']);
    await switchyard(['chat', 'What is 6 * 8?']);
    await logs.until(/ok +local\/chat +\$0\.0000\d+ +\d+ ms +req_/);
    const wish = ['events', '--type', 'call.completed', '--json'];
    const events = follow(process.execPath, [CLI, ...wish, '--since', '0']);
    // Those of refused calls are of another stream, and come in between.
    const charged = String.raw`^(.*"model":"local/chat".*)\n`;
    const [, first = '', second = ''] = await events.until(
      new RegExp(`${charged}(?:.*\\n)*?${charged}`, 'm'),
    );
    const read = (line = '') => JSON.parse(line) as { position: string };
    const resumed = follow(process.execPath, [CLI, ...wish, '--since', read(first).position]);
    const [, again] = await resumed.until(new RegExp(charged, 'm'));
    // A position is one in both streams: how far the other was read may differ.
    expect({ ...read(again), position: null }).toEqual({ ...read(second), position: null });
    await untilBooked(stack.url, stack.key);
    expect((await switchyard(['usage'])).stdout).toMatch(
      /^MODEL +CALLS +COST.*local\/chat +\d+ +\$0\.0000.*total/s,
    );
    const [older, newest] = (await switchyard(['logs', '-n', '2', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; object: string; status: string });
    expect(newest).toMatchObject({ object: 'log', status: 'ok' });
    const page = await switchyard(['logs', '-n', '1', '--after', newest?.id ?? '', '--json']);
    expect(JSON.parse(page.stdout)).toMatchObject({ id: older?.id });
    expect(await switchyard(['usage', '--by', 'none'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^invalid_request: group_by/),
    });
  });

  test('finds calls in logs by request, by the id of the client, by key and by time', async () => {
    const body = { model: 'local/chat', messages: [{ role: 'user', content: 'What is 6 * 9?' }] };
    const headers = { 'x-client-request-id': 'mine-1' };
    const { response } = await sy.api.POST('/v1/chat/completions', { body, headers });
    const id = response.headers.get('x-request-id') ?? '';
    const logs = follow(process.execPath, [CLI, 'logs', '-f', '--client-request', 'mine-1']);
    await logs.until(new RegExp(`^[^\\n]*local/chat[^\\n]*${id}\\n`));
    const found = await switchyard(['logs', '--request', id, '--json']);
    expect(JSON.parse(found.stdout)).toMatchObject({ id, client_request_id: 'mine-1' });
    const { key_id: key, at } = JSON.parse(found.stdout) as { key_id: string; at: string };
    const narrowed = await switchyard(['logs', '--request', id, '--key', key, '--from', at]);
    expect(narrowed.stdout).toContain(id);
    for (const other of [
      ['--key', 'key_none'],
      ['--from', '2100-01-01T00:00:00Z'],
    ])
      expect(await switchyard(['logs', '--request', id, ...other])).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
  });

  test('stores, lists, fetches and deletes files', async () => {
    await writeFile(join(folder, 'note.txt'), 'kept');
    const id = (await switchyard(['files', 'put', join(folder, 'note.txt')])).stdout.trim();
    expect((await switchyard(['files', 'ls'])).stdout).toMatch(new RegExp(`${id} +note.txt +4 `));
    expect((await switchyard(['files', 'get', id])).stdout).toBe('kept');
    await writeFile(join(folder, 'empty'), '');
    const empty = (await switchyard(['files', 'put', join(folder, 'empty')])).stdout.trim();
    expect(await switchyard(['files', 'get', empty])).toMatchObject({ code: 0, stdout: '' });
    expect((await switchyard(['files', 'ls', '-n', '1'])).stdout).toContain(empty);
    expect((await switchyard(['files', 'ls', '-n', '1', '--after', empty])).stdout).toContain(id);
    await switchyard(['files', 'rm', id, empty]);
    expect(await switchyard(['files', 'get', id])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^file_not_found/),
    });
  });

  test('makes, lists and revokes keys', async () => {
    const made = await switchyard(['keys', 'create', 'a reader', '-p', 'usage:read', '--json']);
    const { id, key } = JSON.parse(made.stdout) as { id: string; key: string };
    expect((await switchyard(['keys', 'ls'])).stdout).toMatch(new RegExp(`${id} +a reader +.*usage:read`));
    const asReader = await switchyard(['chat', 'hello'], { env: { SWITCHYARD_KEY: key } });
    expect(asReader).toMatchObject({ code: 1, stderr: expect.stringMatching(/^permission_denied/) });
    expect((await switchyard(['keys', 'rm', id])).stdout).toBe(`${id} is revoked\n`);
    await untilBooked(stack.url, stack.key);
    const { stdout } = await switchyard(['audit-log', '-n', '2']);
    expect(stdout).toMatch(
      new RegExp(`key.created +org_default +${id} .*\n.*key.revoked +org_default +${id} `),
    );
    const last = await switchyard(['audit-log', '--type', 'key.revoked', '-n', '1', '--json']);
    const revoked = JSON.parse(last.stdout) as { id: string };
    expect(revoked).toMatchObject({ object: 'audit_entry', target: id });
    const before = await switchyard(['audit-log', '-n', '1', '--after', revoked.id]);
    expect(before.stdout).toMatch(new RegExp(`key.created +org_default +${id} `));
  });

  test('makes keys with limits, changes and removes the limits, and rotates keys', async () => {
    const bounds = ['--limit', '5/day', '--models', 'local/*,acme/one', '--expires', '2100-01-01T00:00:00Z'];
    const more = ['--rpm', '60', '--concurrent-calls', '2', '--metadata', 'team=search'];
    const made = await switchyard([
      'keys',
      'create',
      'limited',
      '-p',
      'models:write',
      ...bounds,
      ...more,
      '--json',
    ]);
    const key = JSON.parse(made.stdout) as { id: string; key: string };
    expect(key).toMatchObject({
      limit: { amount: 5, interval: 'day' },
      models: ['local/*', 'acme/one'],
      expires_at: '2100-01-01T00:00:00.000Z',
      limits: { requests_per_minute: 60, tokens_per_minute: null, concurrent_calls: 2 },
      metadata: { team: 'search' },
    });
    expect((await switchyard(['keys', 'ls'])).stdout).toMatch(new RegExp(`${key.id} .* \\$5.00/day +2100-`));
    const change = ['--limit', '20.50/week', '--models', 'none', '--rpm', 'none', '--tpm', '1000'];
    const changed = await switchyard(['keys', 'set', key.id, ...change, '--json']);
    expect(JSON.parse(changed.stdout)).toMatchObject({
      limit: { amount: 20.5, interval: 'week' },
      models: null,
      expires_at: '2100-01-01T00:00:00.000Z',
      limits: { requests_per_minute: null, tokens_per_minute: 1000, concurrent_calls: 2 },
      metadata: { team: 'search' },
    });
    const refused = await switchyard(['keys', 'set', key.id, '--rpm', 'many']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Write a whole number.') });
    const { stdout } = await switchyard(['keys', 'rotate', key.id, '--grace-minutes', '0']);
    expect(stdout).toMatch(/^sy_[\w-]+\n$/);
    expect(stdout.trim()).not.toBe(key.key);
    expect((await switchyard(['keys', 'set', key.id, '--limit', 'none'])).stdout).toBe(
      `${key.id} is changed\n`,
    );
    await switchyard(['keys', 'rm', key.id]);
  });

  test('is completed by bash', async () => {
    const shell = follow('script', ['-qefc', 'bash --norc -i', '/dev/null']);
    shell.type(
      `source <(${process.execPath} ${CLI} completion bash); switchyard() { echo "got $*."; }; echo read''y\n`,
    );
    await shell.until(/^ready/m);
    shell.type('switchyard comput\tex\t--cw\t/tmp cmp_1\n');
    await shell.until(/^got computers exec --cwd \/tmp cmp_1\./m);
    shell.type('switchyard usage --interval mo\t--js\t\n');
    await shell.until(/^got usage --interval month --json\./m);
    shell.type('switchyard usage --interval=mo\t--interval=\t\tX\n');
    await shell.until(/^day +hour +minute +month/m);
    await shell.until(/^got usage --interval=month --interval=X\./m);
    shell.type('switchyard completion z\t; exit\n');
    await shell.until(/^got completion zsh\./m);
    expect(await shell.exited).toBe(0);
  });

  test.each(['bash', 'zsh', 'fish'])('writes a script that %s can read', async (shell) => {
    const { code, stdout } = await switchyard(['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toContain('switchyard complete --');
    const read = await run(shell, ['-n', '-c', stdout]);
    if (read.code !== NOT_INSTALLED) expect(read).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  describe.skipIf(!withComputers)('with a computer', () => {
    let id: string;
    beforeAll(async () => {
      const created = await switchyard([
        'computers',
        'create',
        '--name',
        'typed',
        '--cpu',
        '0.25',
        '--memory',
        '512',
        '--idle-minutes',
        '5',
        '--metadata',
        'team=search',
      ]);
      id = created.stdout.trim();
      expect(id, created.stderr).toMatch(/^cmp_/);
    });
    afterAll(async () => {
      expect((await switchyard(['computers', 'rm', id])).stdout).toBe(`${id} is deleted\n`);
    });

    test('runs commands, and exits as they do', async () => {
      expect((await switchyard(['computers', 'ls'])).stdout).toMatch(
        new RegExp(`${id} +typed +running +0.25 +512`),
      );
      const flags = ['-e', 'WHO=me', '--cwd', '/tmp', '-i'];
      const ran = await switchyard(
        ['computers', 'exec', ...flags, id, 'echo', '$WHO;', 'pwd;', 'cat;', 'exit', '7'],
        { stdin: 'read' },
      );
      expect(ran).toEqual({ code: 7, stdout: 'me\n/tmp\nread', stderr: '' });
      const json = await switchyard(['--json', 'computers', 'exec', id, 'ls -d /']);
      expect(JSON.parse(json.stdout)).toMatchObject({ stdout: '/\n', exit_code: 0 });
      const dashed = await switchyard(['computers', 'exec', id, '--', 'ls', '-d', '/']);
      expect(dashed).toMatchObject({ code: 0, stdout: '/\n' });
      const none = await switchyard(['computers', 'exec', 'cmp_none', 'true']);
      expect(none).toMatchObject({ code: 255, stderr: expect.stringMatching(/^computer_not_found: /) });
    });

    test('copies files both ways', async () => {
      await writeFile(join(folder, 'there.txt'), 'there and back');
      await switchyard(['computers', 'cp', join(folder, 'there.txt'), `${id}:data/`]);
      const back = await switchyard([
        'computers',
        'cp',
        `${id}:/workspace/data/there.txt`,
        join(folder, 'back.txt'),
      ]);
      expect(back, back.stderr).toMatchObject({ code: 0 });
      expect(await readFile(join(folder, 'back.txt'), 'utf8')).toBe('there and back');
      await writeFile(join(folder, 'empty'), '');
      await switchyard(['computers', 'cp', join(folder, 'empty'), `${id}:empty`]);
      const nothing = await switchyard(['computers', 'cp', `${id}:empty`, join(folder, 'empty.back')]);
      expect(nothing, nothing.stderr).toMatchObject({ code: 0 });
      expect(await readFile(join(folder, 'empty.back'), 'utf8')).toBe('');
    });

    test('opens a terminal that follows the size of ours, and exits as its shell does', async () => {
      const go = join(folder, 'resize');
      const resized = `(until [ -e ${go} ]; do sleep 0.1; done; stty rows 50 cols 132 < /dev/tty) &`;
      const inside = `stty rows 30 cols 100; ${resized} exec ${process.execPath} ${CLI} computers ssh ${id}`;
      const ssh = follow('script', ['-qefc', inside, '/dev/null']);
      ssh.type('stty size\n');
      await ssh.until(/30 100/);
      await writeFile(go, '');
      ssh.type('until stty size | grep "50 132"; do sleep 0.1; done\n');
      await ssh.until(/^50 132/m);
      ssh.type('exit 9\n');
      expect(await ssh.exited).toBe(9);
    });

    test('opens a terminal of 80 columns and 24 rows when ours reports no size', async () => {
      const ssh = follow('script', ['-qefc', `${process.execPath} ${CLI} computers ssh ${id}`, '/dev/null']);
      ssh.type('stty size\n');
      await ssh.until(/^24 80/m);
      ssh.type('exit 9\n');
      expect(await ssh.exited).toBe(9);
    });

    test('prints a link to a port that needs no key', async () => {
      const serve =
        'echo served > page.txt; (python3 -m http.server 8000 > /dev/null 2>&1 &); until curl -sf localhost:8000; do sleep 0.1; done';
      await switchyard(['computers', 'exec', id, serve]);
      const link = await switchyard(['computers', 'link', id, '8000', '--minutes', '5']);
      expect(link, link.stderr).toMatchObject({ code: 0 });
      expect(await (await fetch(`${link.stdout.trim()}page.txt`)).text()).toBe('served\n');
    });

    test('stops, and starts with its files, tags and idle time', async () => {
      await switchyard(['computers', 'exec', id, 'echo kept > note.txt']);
      expect((await switchyard(['computers', 'stop', id])).stdout).toBe(`${id} is stopped\n`);
      const { stdout } = await switchyard(['computers', 'start', id, '--json']);
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ id, status: 'running', idle_stop_minutes: 5, metadata: { team: 'search' } },
      });
      expect((await switchyard(['computers', 'exec', id, 'cat note.txt'])).stdout).toBe('kept\n');
    });
  });
});

describe('docs/clients.md', () => {
  const blocks = [...GUIDE.matchAll(/^## (.*?)$|```(sh|ts|py)\n(.*?)```/gms)];
  let title = '';
  const [variables, ...tasks] = blocks.flatMap(([, heading, language = '', code = '']) => {
    title = heading ?? title;
    return heading === undefined ? [{ title, language, code }] : [];
  });
  const CURL = 'curl() { command curl -sS --fail-with-body "$@"; }';
  const image = () => join(folder, 'boats.png');

  const runners: Record<string, (code: string) => Promise<Ran>> = {
    sh: (code) => run('bash', ['-c', ['set -euo pipefail', CURL, variables?.code, code].join('\n')]),
    ts: runModule,
    py: (code) => run(python.program, ['-c', code], { env: { ...python.env } }),
  };

  /** Without Docker, the paragraphs that use a computer are left out. */
  const runnable = (code: string) =>
    withComputers
      ? code
      : code
          .split(/\n\n/)
          .filter((paragraph) => !/computer/i.test(paragraph))
          .join('\n\n');

  test.each(tasks)('$title ($language) chats, draws and runs a command', async ({ language, code }) => {
    await rm(image(), { force: true });
    const { code: exit, stdout, stderr } = await runners[language]!(runnable(code));
    expect(exit, stdout + stderr).toBe(0);
    expect(stdout).toContain('6 * 7 = 42');
    expect((await readFile(image())).subarray(1, 4).toString()).toBe('PNG');
    if (!withComputers) return;
    expect(stdout).toMatch(/^42$|"stdout":"42\\n"|runCommand says: 42/m);
    expect(await sy.computers.list()).toEqual([]);
  });
});
