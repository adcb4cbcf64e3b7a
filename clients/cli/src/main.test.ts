// Runs the program against a server with canned answers.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MAIN = join(import.meta.dirname, 'main.ts');
const RUN_TIMEOUT_MS = 280_000;
const COMPUTER = { id: 'cmp_1', name: 'one', status: 'running' };
const HOSTILE = { ...COMPUTER, name: 'a\u001b[2Jb\nc', cpu: 1, memory_mb: 512, minutes: 3, cost: 0.01 };
const TOO_MANY = { error: { code: 'rate_limited', message: 'Too many requests.' } };

const streamOf = (...events: object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const ANSWERS: Record<string, [status: number, body: string]> = {
  'GET /v1/models': [200, JSON.stringify({ data: [] })],
  'GET /v1/files/file_1/content': [200, 'kept'],
  'GET /v1/computers/cmp_1': [200, JSON.stringify(COMPUTER)],
  'POST /v1/computers/cmp_1/exec': [
    200,
    streamOf(
      { type: 'output', data: 'hello\n', encoding: 'utf-8' },
      { type: 'exit', exit_code: 0, duration_ms: 1 },
    ),
  ],
  'GET /v1/computers/cmp_1/files?path=data': [200, '{"object":"folder","entries":[],"has_more":false}'],
  'GET /v1/computers': [200, JSON.stringify({ data: [HOSTILE] })],
  'POST /v1/computers': [201, JSON.stringify({ ...COMPUTER, id: 'cmp_2' })],
  'DELETE /v1/computers/cmp_1': [200, JSON.stringify({ id: 'cmp_1', object: 'computer', deleted: true })],
  'GET /v1/computers/cmp_2': [429, JSON.stringify(TOO_MANY)],
  'DELETE /v1/files/file_1': [200, JSON.stringify({ id: 'file_1', deleted: true })],
  'DELETE /v1/files/file_2': [429, JSON.stringify(TOO_MANY)],
  'DELETE /v1/keys/key_1': [200, JSON.stringify({ id: 'key_1', deleted: true })],
  'DELETE /v1/keys/key_2': [429, JSON.stringify(TOO_MANY)],
};

/** What a chat answers to these messages. */
const DELTAS: Record<string, object> = {
  refuse: { refusal: 'I will not.' },
  hostile: { content: 'a\u001b[2Jb\r\n\tc' },
};

interface Chat {
  messages: { content: string }[];
  stream?: boolean;
}

/** The messages of each chat. */
const chats: string[][] = [];

/** The answer to each request for logs. */
const logAnswers: [status: number, body: string][] = [];
/** The time from which each of them asked. */
const logsAsked: (string | null)[] = [];
/** What each request for events is answered with: a stream, or an error status; null: its connection is cut. */
const eventStreams: (string | number | null)[] = [];
/** The position after which each of them asked for events. */
const eventsAsked: (string | null)[] = [];

let server: Server;
beforeAll(async () => {
  server = createServer(async (request, answer) => {
    if (request.url === '/v1/chat/completions') {
      const { messages, stream } = (await json(request)) as Chat;
      chats.push(messages.map(({ content }) => content));
      const last = messages.at(-1)?.content ?? '';
      if (/^4\d\d$/.test(last)) {
        const error = { code: `code_${last}`, message: 'Refused.' };
        answer.writeHead(Number(last)).end(JSON.stringify({ error }));
      } else if (!stream) {
        answer.end(JSON.stringify({ choices: [{ message: { content: 'heard' } }] }));
      } else if (last === 'endless') {
        answer.write(streamOf({ choices: [{ delta: { content: 'begun' } }] }));
      } else if (last === 'cut') {
        answer.end(streamOf({ choices: [{ delta: { content: 'begun' } }] }, TOO_MANY));
      } else answer.end(streamOf({ choices: [{ delta: DELTAS[last] ?? { content: 'heard' } }] }));
      return;
    }
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://server');
    if (pathname === '/v1/events') {
      eventsAsked.push(searchParams.get('since'));
      const stream = eventStreams.shift();
      if (typeof stream === 'number') {
        answer.writeHead(stream, { 'x-should-retry': 'false' }).end('<h1>Bad gateway</h1>');
        return;
      }
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      if (stream === null) answer.write(': begun\n\n', () => answer.destroy());
      else answer.end(stream);
      return;
    }
    if (pathname === '/v1/logs') {
      logsAsked.push(searchParams.get('from'));
      const logs = logAnswers.shift();
      if (!logs) answer.destroy();
      else answer.writeHead(logs[0], { 'x-should-retry': 'false' }).end(logs[1]);
      return;
    }
    const [status, body] = ANSWERS[`${request.method} ${request.url}`] ?? [404, '{}'];
    request.resume().on('end', () => answer.writeHead(status).end(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server?.close());

function environment(): NodeJS.ProcessEnv {
  const { port } = server.address() as AddressInfo;
  return { ...process.env, SWITCHYARD_URL: `http://127.0.0.1:${port}`, SWITCHYARD_KEY: 'sy_test' };
}

/** Runs a command of a shell, in which `switchyard` is the program. */
function run(command: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = environment();
  const script = `set -o pipefail; switchyard() { "${process.execPath}" "${MAIN}" "$@"; }; ${command}`;
  return new Promise((done) => {
    execFile('bash', ['-c', script], { env, timeout: RUN_TIMEOUT_MS }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

test.each([
  ['files get file_1', 1],
  ['computers exec cmp_1 echo hello', 255],
  ['--json computers exec cmp_1 echo hello', 255],
])('%s on a full disk says so and exits with %i', async (args, code) => {
  expect(await run(`switchyard ${args} > /dev/full`)).toEqual({
    code,
    stdout: '',
    stderr: 'Standard output cannot be written: ENOSPC: no space left on device, write\n',
  });
});

test('an input that is not text is refused: the command would get other bytes', async () => {
  expect(await run("printf 'a\\377' | switchyard computers exec -i cmp_1 cat")).toEqual({
    code: 255,
    stdout: '',
    stderr: 'Standard input is not UTF-8 text. Copy it to a file of the computer: switchyard computers cp.\n',
  });
});

test('a copy of what is no file names the path', async () => {
  const missing = "ENOENT: no such file or directory, open '/tmp/none'\n";
  const copy = (from: string) => run(`switchyard computers cp ${from} cmp_1:x`);
  expect(await copy('/tmp/none')).toEqual({ code: 1, stdout: '', stderr: missing });
  const folder = '/tmp is a folder: cp copies one file.\n';
  expect(await copy('/tmp')).toEqual({ code: 1, stdout: '', stderr: folder });
  expect(await run('switchyard computers cp cmp_1:data /tmp/none')).toEqual({
    ...{ code: 1, stdout: '' },
    stderr: 'data is a folder: cp copies one file.\n',
  });
});

test('what is no file cannot be stored, and is named', async () => {
  const missing = "ENOENT: no such file or directory, open '/tmp/none'\n";
  expect(await run('switchyard files put /tmp/none')).toEqual({ code: 1, stdout: '', stderr: missing });
  const folder = '/tmp is a folder: put stores one file.\n';
  expect(await run('switchyard files put /tmp')).toEqual({ code: 1, stdout: '', stderr: folder });
});

test('an image that could not be written is not drawn', async () => {
  const missing = "ENOENT: no such file or directory, open '/tmp/none/boat.png'\n";
  const drawn = await run('switchyard image a boat -o /tmp/none/boat.png');
  expect(drawn).toEqual({ code: 1, stdout: '', stderr: missing }); // not the 404 of this server
});

test('a key from a file may end in a newline', async () => {
  const { code, stderr } = await run("SWITCHYARD_KEY=$'sy_test\\n' switchyard computers rm cmp_1");
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('commands and deletions print as JSON what the API answers', async () => {
  const printed = async (args: string) =>
    JSON.parse((await run(`switchyard --json computers ${args}`)).stdout);
  expect(await printed('exec cmp_1 echo hello')).toEqual({
    stdout: 'hello\n',
    stderr: '',
    exit_code: 0,
    duration_ms: 1,
  });
  expect(await printed('rm cmp_1')).toEqual({ id: 'cmp_1', object: 'computer', deleted: true });
});

test.each([
  ['computers', 'cmp_2', 'cmp_1 is deleted'],
  ['files', 'file_2', 'file_1 is deleted'],
  ['keys', 'key_2', 'key_1 is revoked'],
])('of several %s, one that fails is named and keeps no other from its end', async (kind, failing, ended) => {
  const [other] = ended.split(' ');
  expect(await run(`switchyard ${kind} rm ${failing} ${other}`)).toEqual({
    code: 1,
    stdout: `${ended}\n`,
    stderr: `${failing}: rate_limited: Too many requests.\n`,
  });
});

test('a number of cores that is none is refused before a request', async () => {
  const { code, stderr } = await run('switchyard computers create --cpu half');
  expect(code).toBe(1);
  expect(stderr).toContain("argument 'half' is invalid. Write a number.");
});

test.each(['logs', 'logs -f', 'audit-log', 'files ls'])(
  '%s -n ten is refused before a request',
  async (command) => {
    const { code, stderr } = await run(`switchyard ${command} -n ten`);
    expect(code).toBe(1);
    expect(stderr).toContain("argument 'ten' is invalid. Write a whole number.");
  },
);

test('a reader that closes the pipe ends the program quietly', async () => {
  expect(await run('switchyard files get file_1 | true')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a created computer is printed although no further request is answered', async () => {
  expect(await run('switchyard computers create')).toEqual({ code: 0, stdout: 'cmp_2\n', stderr: '' });
  const { stdout } = await run('switchyard --json computers create');
  expect(JSON.parse(stdout)).toEqual({ ...COMPUTER, id: 'cmp_2' });
});

test.each([
  ['comput', ['computers']],
  ['computers ex', ['exec']],
  ['computers exec --cw', ['--cwd']],
  ['computers exec --cwd ""', []],
  ['usage --interval mo', ['month']],
  ['usage --interval = m', ['minute', 'month']],
  ['usage --interval =', ['minute', 'hour', 'day', 'month']],
  ['usage --interval=mo', ['--interval=month']],
  ['--json completion ""', ['bash', 'zsh', 'fish']],
])('%s is completed to %j', async (words, completions) => {
  const { stdout } = await run(`switchyard complete -- ${words} | cut -f 1`);
  expect(stdout.split('\n').filter(Boolean)).toEqual(completions);
});

test('control characters in a name neither break a table row nor reach the terminal', async () => {
  const { stdout } = await run('switchyard computers ls');
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^COMPUTER /),
    'cmp_1     a\ufffd[2Jb\ufffdc  running  1    512        3        $0.01',
    '',
  ]);
  const { stdout: json } = await run('switchyard computers ls --json');
  expect(JSON.parse(json)).toEqual([HOSTILE]);
});

test('a login is found when the address ends with a slash, or is later set to empty', async () => {
  const { stdout, stderr } = await run(`
    export XDG_CONFIG_HOME=$(mktemp -d)
    trap 'rm -r "$XDG_CONFIG_HOME"' EXIT
    unset SWITCHYARD_KEY
    export SWITCHYARD_URL=$SWITCHYARD_URL/
    echo sy_test | switchyard login > /dev/null
    switchyard models
    SWITCHYARD_URL= SWITCHYARD_KEY= switchyard models`);
  expect(stderr).toBe('');
  expect(stdout).toBe('MODEL  TYPE  AVAILABLE  ENDPOINT\n'.repeat(2));
});

test('address and key of the environment suffice where the saved ones cannot be read', async () => {
  const { code, stderr } = await run('XDG_CONFIG_HOME=/dev/null switchyard models');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('an empty XDG_CONFIG_HOME counts as unset: no key is written into the current folder', async () => {
  const { stdout, stderr } = await run(`
    export HOME=$(mktemp -d) XDG_CONFIG_HOME=
    trap 'rm -r "$HOME"' EXIT
    mkdir $HOME/here; cd $HOME/here
    echo sy_test | switchyard login > /dev/null
    cd ..; find . -type f`);
  expect({ stdout, stderr }).toEqual({ stdout: './.config/switchyard/config.json\n', stderr: '' });
});

test.each(['echo sy_ab12cd… | switchyard login', 'SWITCHYARD_KEY=sy_ab12cd… switchyard models'])(
  '%s says that this is no key',
  async (command) => {
    expect(await run(command)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'This is not an API key: it has characters that no key has. Copy the whole key again.\n',
    });
  },
);

test.each(['switchyard models', 'echo sy_test | switchyard login'])(
  '%s names the address that does not answer',
  async (command) => {
    expect(await run(`export SWITCHYARD_URL=http://127.0.0.1:2; ${command}`)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'No answer from http://127.0.0.1:2: check that it runs, SWITCHYARD_URL, and `switchyard login` (ECONNREFUSED)\n',
    });
  },
);

test('events are read on after the last position when the server ends the stream, until an error lasts', async () => {
  const happened = (type: string) => JSON.stringify({ type, timestamp: '2026-01-01T00:00:00Z', data: {} });
  const failure = (code: string) =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', error: { code, message: 'It ends.' } })}\n\n`;
  eventStreams.push(
    `id: 4.0\n\n${failure('service_unavailable')}`,
    502, // of a proxy
    `id: 4.0\n\nid: 5.1\nevent: a.b\ndata: ${happened('a.b')}\n\n${failure('service_unavailable')}`,
    null, // the connection is lost
    failure('service_unavailable'),
    `id: 7.1\nevent: c.d\ndata: ${happened('c.d')}\n\n`,
    failure('invalid_api_key'),
  );
  const { code, stdout, stderr } = await run('switchyard --json events --type a.b,c.d');
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'invalid_api_key: It ends.\n' });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ type, position }) => [type, position])).toEqual([
    ['a.b', '5.1'],
    ['c.d', '7.1'],
  ]);
  expect(eventsAsked).toEqual([null, '4.0', '4.0', '5.1', '5.1', '5.1', '7.1']);
});

test('logs are followed while the server restarts, until an error lasts', async () => {
  const rows = (...ids: string[]) =>
    JSON.stringify({ data: ids.map((id) => ({ id, at: '2026-01-01T00:00:00Z' })) });
  const failure = (code: string) => JSON.stringify({ error: { code, message: 'Not now.' } });
  logAnswers.push(
    [200, rows('req_1')],
    [503, failure('service_unavailable')],
    [200, rows('req_2', 'req_1')],
    [401, failure('invalid_api_key')],
  );
  const { code, stdout, stderr } = await run('switchyard --json logs -f');
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'invalid_api_key: Not now.\n' });
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  ).toEqual(['req_1', 'req_2']);
});

test('logs are followed from the newest row on, also when it leaves the filter', async () => {
  const rows = (...seconds: number[]) =>
    JSON.stringify({
      data: seconds.map((second) => ({ id: `req_${second}`, at: `2026-01-01T00:01:${second}Z` })),
    });
  logsAsked.length = 0;
  logAnswers.push(
    [200, rows(30, 20)],
    [200, rows(20)], // the newest was voided
    [200, rows()],
    [401, JSON.stringify({ error: { code: 'invalid_api_key', message: 'Not now.' } })],
  );
  await run('switchyard --json logs -f --status ok');
  const from = '2026-01-01T00:00:30.000Z';
  expect(logsAsked).toEqual([null, from, from, from]);
});

/** A conversation in a terminal: types each line at the prompt and waits for its answer. */
const converse = (...lines: [typed: string, answer: string][]) =>
  typeInto(
    'chat',
    lines.map(([typed, answer]) => ['> ', `${typed}\n`, answer]),
  );

/** A command in a terminal: at each prompt types what belongs there, and waits for the answer. */
async function typeInto(
  command: string,
  lines: [prompt: string, typed: string, answer: string][],
): Promise<ChildProcess> {
  const program = `${process.execPath} ${MAIN} ${command}`;
  const terminal = spawn('script', ['-qefc', program, '/dev/null'], { env: environment() });
  const output = terminal.stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  let shown = '';
  const until = async (text: string) => {
    while (!shown.includes(text)) {
      const { value, done } = await output.next();
      if (done) expect.fail(`it ended after: ${shown}`);
      shown += value;
    }
    shown = shown.slice(shown.indexOf(text) + text.length);
  };
  for (const [prompt, typed, answer] of lines) {
    await until(prompt);
    terminal.stdin.write(typed);
    await until(answer);
  }
  return terminal;
}

test('chat prints the words of a refusal', async () => {
  expect(await run('switchyard chat refuse')).toEqual({ code: 0, stdout: 'I will not.\n', stderr: '' });
});

test('the error of a cut answer has a line of its own', async () => {
  const error = 'rate_limited: Too many requests.\n';
  expect(await run('switchyard chat cut')).toEqual({ code: 1, stdout: 'begun\n', stderr: error });
});

test('--version prints the version', async () => {
  expect((await run('switchyard --version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('an answer cannot command the terminal that shows it', async () => {
  const terminal = await converse(['hostile', 'a\ufffd[2Jb\r\n\tc'], ['\x04', '']);
  expect(await once(terminal, 'exit')).toEqual([0, null]);
  expect((await run('switchyard chat hostile')).stdout).toBe('a\x1b[2Jb\r\n\tc\n'); // a pipe gets the bytes
});

test('a chat with --json in a terminal reads one message to its end', async () => {
  const terminal = await typeInto('--json chat', [['', 'hello\n\x04', '{"choices":']]);
  expect(await once(terminal, 'exit')).toEqual([0, null]);
});

test('a conversation goes on after an error, without the message that got no answer', async () => {
  chats.length = 0;
  const terminal = await converse(
    ['one', 'heard'],
    ['429', 'code_429: Refused.'],
    ['two', 'heard'],
    ['\x04', ''],
  );
  expect(await once(terminal, 'exit')).toEqual([0, null]);
  expect(chats).toEqual([['one'], ['one', 'heard', '429'], ['one', 'heard', 'two']]);
});

test('Ctrl-C ends the answer of a conversation, which goes on, and at the prompt the conversation', async () => {
  chats.length = 0;
  const terminal = await typeInto('chat', [
    ['> ', 'endless\n', 'begun'],
    ['', '\x03', '> '],
    ['', 'two\n', 'heard'],
    ['> ', '\x03', ''],
  ]);
  expect(await once(terminal, 'exit')).toEqual([0, null]);
  expect(chats).toEqual([['endless'], ['two']]);
});

test.each(['401', '403', '404'])('a conversation ends with exit code 1 after a %s', async (status) => {
  const terminal = await converse([status, `code_${status}: Refused.`]);
  expect(await once(terminal, 'exit')).toEqual([1, null]);
});

test.each(['\x04', '\x03'])(
  'a login at whose prompt %j is typed says that there is no key',
  async (typed) => {
    const terminal = await typeInto('login', [[': ', typed, 'No key was given.']]);
    expect(await once(terminal, 'exit')).toEqual([1, null]);
  },
);
