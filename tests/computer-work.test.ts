// Typical work on a computer, over HTTP: version control, packages from the registries, compilers, a database, a browser
// whose screenshot is checked; and commands at their limits.
import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  COMMAND_BYTES_MAX,
  type ComputerObject,
  type ExecResult,
  STANDARD_IMAGE,
} from '@switchyard/contracts';
import { docker, startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { type Colour, readPng } from './__fixtures__/read-png.ts';

const OUTPUT_BYTES_MAX = 1024 * 1024;
/** Timeout of commands that write something and then exceed it. */
const SHORT_TIMEOUT_S = 10;
/** Maximum time of a command that waits for a program. */
const LONG_TIMEOUT_S = 90;
let stack: TestStack;
/** The computer of most tests. */
let id: string;

type Engine = NonNullable<Awaited<ReturnType<typeof docker>>>;

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  readonly body: any;
}

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${stack.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

const exec = (command: string, more: object = {}) =>
  call('POST', `/computers/${id}/exec`, { command, ...more });

/** The output of a command; fails with it when the exit code is not 0. */
async function run(command: string, more: object = {}): Promise<string> {
  const { status, body } = await exec(`set -eo pipefail\n${command}`, more);
  if (status !== 200 || body.exit_code !== 0)
    throw new Error(`${command}: ${status} ${JSON.stringify(body)}`);
  return (body as ExecResult).stdout;
}

/** Stores a file and puts it into the computer. */
async function upload(path: string, content: string): Promise<void> {
  const form = new FormData();
  form.set('file', new Blob([content]), path);
  const { body: file } = await call('POST', '/files', form);
  const { status, body } = await call('POST', `/computers/${id}/upload`, { file: file.id, path });
  expect({ status, bytes: body.bytes }).toEqual({ status: 200, bytes: Buffer.byteLength(content) });
}

async function createComputer(body: object): Promise<ComputerObject> {
  const { status, body: computer } = await call('POST', '/computers', body);
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(computer)}`);
  return computer;
}

beforeAll(async () => {
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on', SWITCHYARD_WARM_POOL: '1' } });
  ({ id } = await firstComputer(stack, { cpu: 1, memory_mb: 1024 }));
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
});

describe('work', () => {
  test('git keeps a history', async () => {
    await run(`git init -q -b main repo && cd repo
      git config user.name Ada && git config user.email ada@example.com
      echo one > notes && git add notes && git commit -qm 'The first note'
      echo two >> notes && git commit -qam 'The second note'`);
    expect(await run('git log --format="%an: %s"; git status --porcelain', { cwd: 'repo' })).toBe(
      'Ada: The second note\nAda: The first note\n',
    );
    expect(await run('git show HEAD~1:notes; git diff --stat HEAD~1 | tail -1', { cwd: 'repo' })).toBe(
      'one\n 1 file changed, 1 insertion(+)\n',
    );
  });

  test('npm installs a package and its dependencies from the registry, and Node.js uses them', async () => {
    await run('mkdir app && cd app && npm init -y && npm i is-odd@3.0.1');
    expect(await run(`node -p 'require("is-odd")(3)'; npm ls --depth 0 --parseable`, { cwd: 'app' })).toBe(
      'true\n/workspace/app\n/workspace/app/node_modules/is-odd\n',
    );
    expect(await run('ls app/node_modules')).toBe('is-number\nis-odd\n');
  });

  test('pip installs a package in a venv, and only there', async () => {
    await run('python3 -m venv env && env/bin/pip install -q iniconfig==2.0.0');
    expect(await run('env/bin/python -c "import iniconfig; print(iniconfig.__file__)"')).toMatch(
      /^\/workspace\/env\/lib\/python3\.\d+\/site-packages\/iniconfig\/__init__\.py\n$/,
    );
    expect((await exec('python3 -c "import iniconfig"')).body).toMatchObject({ exit_code: 1 });
  });

  test('gcc and make build a program of two files', async () => {
    await upload(
      'prog/main.c',
      '#include <stdio.h>\nint twice(int);\nint main(void) { printf("%d\\n", twice(21)); }\n',
    );
    await upload('prog/twice.c', 'int twice(int n) { return 2 * n; }\n');
    await upload('prog/Makefile', 'prog: main.o twice.o\n\t$(CC) -o $@ $^\n');
    expect(await run('make -s && ./prog && file -b prog | cut -c1-10', { cwd: 'prog' })).toBe(
      '42\nELF 64-bit\n',
    );
  });

  test('sqlite3 and Python share a database', async () => {
    await run('sqlite3 shop.db', {
      stdin: `create table sold (what text, pence integer);
        insert into sold values ('tea', 250), ('cake', 410), ('tea', 250);`,
    });
    const sums = `import sqlite3
for row in sqlite3.connect('shop.db').execute('select what, sum(pence) from sold group by what order by what'):
    print(*row)`;
    expect(await run('python3 -', { stdin: sums })).toBe('cake 410\ntea 500\n');
  });

  test('Chromium takes a screenshot that shows the page', async () => {
    // Three fields by style sheet, one that only a script colours, and a word in the middle of the last.
    await upload(
      'page.html',
      `<!doctype html><style>
        body { margin: 0; display: grid; grid: 150px 150px / 200px 200px }
        #b { background: rgb(0, 128, 0) } #c { background: rgb(0, 0, 255) } #d { background: white }
        #d { font: bold 60px sans-serif; line-height: 150px; text-align: center }
      </style><div id=a></div><div id=b></div><div id=c></div><div id=d>Word</div>
      <script>document.querySelector('#a').style.background = 'rgb(' + [250, 5 + 5, 20] + ')'</script>`,
    );
    const shot = 'chromium --headless --hide-scrollbars --window-size=400,300 --screenshot=shot.png';
    await run(`${shot} file:///workspace/page.html 2> chromium.log`);
    const picture = readPng(Buffer.from(await run('base64 -w0 shot.png'), 'base64'));
    expect([picture.width, picture.height]).toEqual([400, 300]);

    const fields: [x: number, y: number, colour: Colour][] = [
      [0, 0, [250, 10, 20]],
      [200, 0, [0, 128, 0]],
      [0, 150, [0, 0, 255]],
    ];
    for (const [left, top, colour] of fields)
      for (const [x, y] of [
        [0, 0],
        [199, 0],
        [100, 75],
        [0, 149],
        [199, 149],
      ] as const)
        expect(picture.at(left + x, top + y), `at ${left + x}, ${top + y}`).toEqual(colour);
    let dark = 0;
    for (let x = 200; x < 400; x++)
      for (let y = 150; y < 300; y++) if (picture.at(x, y).every((channel) => channel < 64)) dark += 1;
    expect(dark / (200 * 150), 'ink of the word').toBeGreaterThan(0.04);
    expect(dark / (200 * 150), 'ink of the word').toBeLessThan(0.5);
    expect(picture.at(205, 155)).toEqual([255, 255, 255]);
  });
});

describe('a command', () => {
  test('a program in the background outlives its command, serves the next, and ends with a stop; files stay', async () => {
    await run(`mkdir site && echo served > site/index.html && sha256sum site/index.html > sums
      (cd site && nohup python3 -m http.server 8000 > ../server.log 2>&1 &)
      nohup bash -c 'while :; do echo beat >> beats; sleep 0.05; done' > /dev/null 2>&1 &`);
    expect(await run('until curl -sf localhost:8000; do sleep 0.05; done', { timeout: LONG_TIMEOUT_S })).toBe(
      'served\n',
    );
    // It is still beating: the file grows while nothing of ours runs.
    await run('seen=$(wc -l < beats); until [ $(wc -l < beats) -gt $((seen + 3)) ]; do sleep 0.05; done', {
      timeout: LONG_TIMEOUT_S,
    });

    expect((await call('POST', `/computers/${id}/stop`)).body).toMatchObject({ status: 'stopped' });
    expect((await exec('true')).body.error.code).toBe('computer_not_running');
    expect((await call('POST', `/computers/${id}/start`)).body).toMatchObject({ status: 'running' });

    expect((await exec('curl -sf localhost:8000')).body).toMatchObject({ exit_code: 7 });
    expect((await exec('pgrep -f "http.server|beats"')).body).toMatchObject({ stdout: '', exit_code: 1 });
    expect(await run('seen=$(wc -l < beats); sleep 0.3; [ $(wc -l < beats) = $seen ] && echo still')).toBe(
      'still\n',
    );
    expect(await run('sha256sum -c sums; git -C repo log -1 --format=%s; ./prog/prog')).toBe(
      'site/index.html: OK\nThe second note\n42\n',
    );
  });

  test('may have 65,536 bytes, counted as bytes, all of which arrive; one more is refused', async () => {
    const around = (text: string) => `printf %s '${text}' | sha256sum`;
    // Two bytes each, and one of one byte.
    const text = `x${'é'.repeat((COMMAND_BYTES_MAX - Buffer.byteLength(around('x'))) / 2)}`;
    const command = around(text).padEnd(
      around(text).length + COMMAND_BYTES_MAX - Buffer.byteLength(around(text)),
    );
    expect(Buffer.byteLength(command)).toBe(COMMAND_BYTES_MAX);
    expect((await exec(command)).body.stdout).toBe(`${createHash('sha256').update(text).digest('hex')}  -\n`);
    expect(await exec(`${command} `)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', param: 'command' } },
    });
  });

  test('that exceeds its timeout is killed with all its children; its output so far is in the error', async () => {
    const answer = await exec(
      'echo so far; setsid sleep 4321 & trap "" TERM; echo and further >&2; sleep 4322',
      {
        timeout: SHORT_TIMEOUT_S,
      },
    );
    expect(answer).toMatchObject({
      status: 422,
      body: { error: { code: 'command_timed_out', details: { stdout: 'so far\nand further\n' } } },
    });
    expect(answer.body.error.details.duration_ms).toBeGreaterThanOrEqual(1_000);
    expect((await exec('pgrep -f "sleep 432"')).body).toMatchObject({ stdout: '', exit_code: 1 });
  });

  test('may write 1 MiB; longer output is cut and marked, and the exit code is kept', async () => {
    const write = (bytes: number) => exec(`head -c ${bytes} /dev/zero | tr '\\0' x; exit 5`);
    const { body: whole } = await write(OUTPUT_BYTES_MAX);
    expect(whole.stdout.length).toBe(OUTPUT_BYTES_MAX);
    expect(whole).not.toHaveProperty('truncated');
    const { body: cut } = await write(OUTPUT_BYTES_MAX + 1);
    expect(cut.stdout === whole.stdout).toBe(true);
    expect(cut).toMatchObject({ truncated: true, exit_code: 5 });
  });
});

describe('a foreign image', () => {
  const IMAGE = 'switchyard-test/greeter:1';

  const DOCKERFILE = String.raw`
ENV GREETING=hello
RUN printf '#!/bin/sh\necho $GREETING from $(id -un)\n' > /usr/local/bin/greet && chmod +x /usr/local/bin/greet
`;

  /** Builds on a Debian image that this machine has, without a network. */
  async function buildGreeter(engine: Engine): Promise<void> {
    const tags = (await engine.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    const base = ['debian:12', 'switchyard/debian:12'].find((tag) => tags.includes(tag)) ?? STANDARD_IMAGE;
    const context = await temporaryFolder('greeter');
    await writeFile(join(context, 'Dockerfile'), `FROM ${base}${DOCKERFILE}`);
    const lines = await engine.buildImage(
      { context, src: ['Dockerfile'] },
      { t: IMAGE, networkmode: 'none' },
    );
    await new Promise<void>((resolve, reject) => {
      engine.modem.followProgress(lines, (error) => (error ? reject(error) : resolve()));
    });
    await rm(context, { recursive: true });
  }

  test('runs with its contents, and keeps its /workspace over a stop', async () => {
    const engine = await docker();
    if (!engine) throw new Error('no Docker engine answers');
    await buildGreeter(engine);
    // The agent's note of an image that it pulled: others are not for renters.
    const images = join(stack.dataFolder, 'hosts', 'computer-agent', 'computers', 'images');
    await mkdir(images, { recursive: true });
    const note = join(images, createHash('sha256').update(IMAGE).digest('hex'));
    try {
      expect(await call('POST', '/computers', { image: IMAGE })).toMatchObject({
        status: 400,
        body: { error: { code: 'image_unavailable', param: 'image' } },
      });
      await writeFile(note, IMAGE);
      const other = await createComputer({ image: IMAGE, cpu: 0.25, memory_mb: 512 });
      expect(other).toMatchObject({ image: IMAGE, status: 'running' });
      const there = (command: string) => call('POST', `/computers/${other.id}/exec`, { command });
      expect((await there('greet | tee said; pwd; exit 6')).body).toMatchObject({
        stdout: 'hello from root\n/workspace\n',
        exit_code: 6,
      });
      await call('POST', `/computers/${other.id}/stop`);
      await call('POST', `/computers/${other.id}/start`);
      expect((await there('cat said; greet')).body.stdout).toBe('hello from root\nhello from root\n');
      expect(await call('DELETE', `/computers/${other.id}`)).toMatchObject({ status: 200 });
    } finally {
      await engine.getImage(IMAGE).remove({ force: true });
    }
  });

  test.each([
    ['registry.invalid/none:1', 'the host name could not be resolved'],
    ['127.0.0.1:5000/none:1', 'of public addresses are allowed'],
    ['switchyard-test/none:1', 'cannot be pulled'],
  ])('that is unavailable (%s) is a 400 saying why, and takes no slot', async (image, why) => {
    const { status, body } = await call('POST', '/computers', { image });
    expect({ status, code: body.error.code, param: body.error.param }).toEqual({
      status: 400,
      code: 'image_unavailable',
      param: 'image',
    });
    expect(body.error.message).toContain(image);
    expect(body.error.message).toContain(why);
    expect((await call('GET', '/computers')).body.data.map((one: ComputerObject) => one.id)).toEqual([id]);
  });
});
