// The API as tools of an MCP client: the official SDK's and its inspector, unchanged, against the whole stack.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult, ListToolsResult } from '@modelcontextprotocol/sdk/types.js';
import type { Permission } from '@switchyard/contracts';
import { runCommand } from '@switchyard/local';
import { startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from '../__fixtures__/first-computer.ts';
import { npmProgram } from '../__fixtures__/npm-program.ts';

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
/** A little less than a test has. */
const INSPECTOR_MS_MAX = 280_000;
/** Longer than the API takes at most for any tool; the client's own limit is a minute. */
const TOOL_MS_MAX = 400_000;
/** Bytes of a sound that a result has without being stored (docs/mcp.md). */
const SHOWN_BYTES_MAX = 1024 * 1024;

let stack: TestStack;
let client: Client;

const COMPUTER_TOOLS = [
  ...['create_computer', 'list_computers', 'start_computer', 'stop_computer', 'delete_computer'],
  ...['run_command', 'read_file', 'write_file', 'copy_file_to_computer', 'open_port'],
  ...['desktop_screenshot', 'desktop_click', 'desktop_type', 'desktop_press'],
];
const MODEL_TOOLS = [
  ...['chat', 'rerank', 'decide', 'generate_image', 'generate_speech', 'transcribe_audio'],
  ...['create_video', 'get_video'],
];

async function connect(key: string): Promise<Client> {
  const connected = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await connected.connect(new StreamableHTTPClientTransport(new URL('/mcp', stack.url), { requestInit }));
  return connected;
}

interface Called {
  // biome-ignore lint/suspicious/noExplicitAny: the results of all tools, looked at by the tests
  readonly result: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly error: any;
  readonly cost: number;
  readonly requestId: string;
  readonly content: CallToolResult['content'];
  /** The text for language models. */
  readonly text: string;
}

async function call(name: string, input: object = {}, by = client): Promise<Called> {
  const answer = await by.callTool({ name, arguments: { ...input } }, undefined, { timeout: TOOL_MS_MAX });
  return calledOf(answer as CallToolResult);
}

function calledOf(answer: CallToolResult): Called {
  const { result, error, cost, request_id } = answer.structuredContent as Omit<Called, 'requestId'> & {
    request_id: string;
  };
  expect(answer.isError ?? false, JSON.stringify(error)).toBe(error !== undefined);
  const { content } = answer;
  const text = content[0]?.type === 'text' ? content[0].text : '';
  return { result, error, cost, requestId: request_id, content, text };
}

async function api(path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
  return fetch(
    `${stack.url}/v1${path}`,
    body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers },
  );
}

/** The cost of a call in its row of the logs. */
async function loggedCost({ requestId }: Called): Promise<number> {
  let row: { cost: number } | undefined;
  await expect
    .poll(async () => {
      const answer = await api(`/logs/${requestId}`);
      row = (await answer.json()) as { cost: number };
      return answer.status;
    })
    .toBe(200);
  return row?.cost ?? Number.NaN;
}

async function keyWith(permissions: Permission[]): Promise<string> {
  return ((await (await api('/keys', { name: 'mcp', permissions })).json()) as { key: string }).key;
}

beforeAll(async () => {
  stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on' } });
  await untilComputers(stack);
  client = await connect(stack.key);
}, SET_UP_MS_MAX);
afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

test('a client lists every tool, with a schema of its input', async () => {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual(
    [...COMPUTER_TOOLS, ...MODEL_TOOLS, 'list_models'].sort(),
  );
  for (const { name, description, inputSchema } of tools) {
    expect(description, name).toBeTruthy();
    // Makers of language models refuse tools whose schema is an alternative.
    expect(Object.keys(inputSchema).sort(), name).toEqual(
      expect.not.arrayContaining(['anyOf', 'oneOf', 'allOf']),
    );
  }
});

test('a key sees only the tools that it may use, and the API refuses the others', async () => {
  const modelsOnly = await connect(await keyWith(['models:write']));
  const names = (await modelsOnly.listTools()).tools.map(({ name }) => name);
  expect(names.sort()).toEqual([...MODEL_TOOLS, 'list_models'].sort());
  const { error, text } = await call('list_computers', {}, modelsOnly);
  expect(error.code).toBe('permission_denied');
  expect(text).toMatch(/^permission_denied: .*computers:read/);
  await modelsOnly.close();
  await expect(connect('sy_unknown')).rejects.toThrow('invalid_api_key');
});

test('a computer is created, used through commands, files and its desktop, and deleted', {
  timeout: SET_UP_MS_MAX,
}, async () => {
  const created = await call('create_computer', {
    ...{ name: 'by mcp', cpu: 0.5, memory_mb: 1024, idle_stop_minutes: 5 },
  });
  const computer_id: string = created.result.id;
  expect(created.result).toMatchObject({ name: 'by mcp', status: 'running', idle_stop_minutes: 5 });
  expect(created.cost).toBe(0);

  const written = await call('write_file', { computer_id, path: 'notes/a.txt', content: 'é and 漢字\n' });
  expect(written.result.path).toBe('/workspace/notes/a.txt');
  const ran = await call('run_command', { computer_id, command: 'cat notes/a.txt; exit 3' });
  expect(ran.result).toMatchObject({ stdout: 'é and 漢字\n', exit_code: 3 });
  expect(ran.text).toBe('exit code 3\né and 漢字\n');
  expect((await call('read_file', { computer_id, path: 'notes/a.txt' })).text).toBe('é and 漢字\n');
  expect((await call('read_file', { computer_id, path: 'notes' })).result.entries).toMatchObject([
    { name: 'a.txt' },
  ]);
  await call('run_command', {
    computer_id,
    command: ': > empty; seq 100000 > long; head -c 9 /dev/zero > zeros',
  });
  expect((await call('read_file', { computer_id, path: 'empty' })).text).toBe('');
  expect((await call('read_file', { computer_id, path: 'zeros' })).text).toMatch(/^A binary file of 9 bytes/);
  const part = await call('read_file', { computer_id, path: 'long' });
  const next = await call('read_file', { computer_id, path: 'long', offset: part.result.next_offset });
  expect((part.result.text + next.result.text).startsWith('1\n2\n3\n')).toBe(true);
  expect(part.result.bytes).toBe(588_895);
  expect(part.text).toMatch(/\n\[\d+ more bytes: go on at offset \d+\]$/);

  await call('run_command', {
    computer_id,
    command:
      '(python3 -m http.server 8000 > /dev/null 2>&1 &); until curl -sf localhost:8000; do sleep 0.1; done',
  });
  const { url } = (await call('open_port', { computer_id, port: 8000 })).result;
  expect(await (await fetch(`${url}notes/a.txt`)).text()).toBe('é and 漢字\n');

  const shown = await call('desktop_screenshot', { computer_id });
  expect(shown.content[1]).toMatchObject({ type: 'image', mimeType: 'image/jpeg' });
  await call('run_command', {
    computer_id,
    command: 'nohup xterm > /dev/null 2>&1 & xdotool search --sync --onlyvisible --class xterm',
  });
  await call('desktop_click', { computer_id, x: 640, y: 420 }); // the window is in the middle
  await call('desktop_type', { computer_id, text: "echo 'typed $HOME' > /workspace/typed" });
  const unknown = await call('desktop_press', { computer_id, keys: 'ctrl+PageDown' });
  expect(unknown.error).toMatchObject({ code: 'invalid_request', param: 'keys' });
  await call('desktop_press', { computer_id, keys: 'Return' });
  await expect
    .poll(async () => (await call('run_command', { computer_id, command: 'cat typed' })).result.stdout)
    .toBe('typed $HOME\n');

  const late = await call('run_command', { computer_id, command: 'echo begun; sleep 60', timeout: 10 });
  expect(late.error).toMatchObject({ code: 'command_timed_out', details: { stdout: 'begun\n' } });
  expect(late.text).toMatch(/^command_timed_out: .*begun/s);

  // A command ends with its client, unless it is to continue.
  const leaving = await connect(stack.key);
  const begin = (command: string, more: object) =>
    call('run_command', { computer_id, command, timeout: 240, ...more }, leaving).catch(() => {});
  void begin('sleep 4321', {});
  void begin('sleep 4322', { on_disconnect: 'continue' });
  const sleeping = async () =>
    (await call('run_command', { computer_id, command: 'pgrep -axf "sleep 432[12]" | cut -d " " -f 3' }))
      .result.stdout;
  await expect.poll(async () => (await sleeping()).split('\n').sort()).toEqual(['', '4321', '4322']);
  await leaving.close();
  await expect.poll(sleeping).toBe('4322\n');

  expect((await call('delete_computer', { computer_id })).result).toMatchObject({ deleted: true });
  const gone = await call('run_command', { computer_id, command: 'true' });
  expect(gone.error.code).toBe('computer_not_found');
});

test('the cost in a result is that of the log row', async () => {
  const drawn = await call('generate_image', { model: 'local/image', prompt: 'two red boats' });
  expect(drawn.content[1]).toMatchObject({ type: 'image', mimeType: 'image/png' });
  expect(drawn.cost).toBe(await loggedCost(drawn));
  expect(drawn.cost).toBe(drawn.result.usage.cost);

  const documents = ['Bread is baked from flour.', 'Computers are rented by the minute.'];
  const ranked = await call('rerank', { model: 'local/rerank', query: 'renting a computer', documents });
  expect(ranked.result.results[0].index).toBe(1);
  expect(ranked.cost).toBe(await loggedCost(ranked));

  const asked = await call('chat', {
    model: 'local/chat',
    messages: [{ role: 'user', content: 'What is 6 * 7?' }],
  });
  expect(asked.text).toContain('42');
  expect(asked.cost).toBeGreaterThan(0);
  expect(asked.cost).toBe(await loggedCost(asked));
  expect(asked.content.at(-1)).toEqual({
    type: 'text',
    text: `Cost: ${asked.cost} US dollars. Request: ${asked.requestId}`,
  });

  const questions = { large: { type: 'boolean', instructions: 'Is the amount over 100?' } };
  const decided = await call('decide', { model: 'local/decide', state: { amount: 120 }, questions });
  expect(decided.result.answers.large.probability).toBeGreaterThan(0.5);
  expect(decided.cost).toBe(await loggedCost(decided));
});

test('a sound that one tool stores is transcribed by another', async () => {
  const spoken = await call('generate_speech', {
    model: 'local/speech',
    input: 'seven three nine one',
    response_format: 'wav',
    store: true,
  });
  expect(spoken.content[1]).toMatchObject({ type: 'audio', mimeType: 'audio/wav' });
  expect(spoken.cost).toBe(await loggedCost(spoken));
  const { file_id } = spoken.result;
  const written = await call('transcribe_audio', { model: 'local/transcribe', file_id });
  expect(written.text).toMatch(/seven.*three.*nine.*one/i);
  expect(written.cost).toBe(await loggedCost(written));
});

test('a result is returned although its key may not store it', async () => {
  const noStorage = await connect(await keyWith(['models:write']));
  const input = { model: 'local/image', prompt: 'a boat', store: true };
  const { result, content } = await call('generate_image', input, noStorage);
  expect(result.not_stored).toMatch(/^permission_denied: /);
  expect(content[1]).toMatchObject({ type: 'image' });
  const long = { model: 'local/speech', input: 'seven three nine one. '.repeat(30), response_format: 'wav' };
  const spoken = await call('generate_speech', long, noStorage);
  expect(spoken.result.bytes).toBeGreaterThan(SHOWN_BYTES_MAX);
  expect(spoken.result.not_stored).toMatch(/^permission_denied: /);
  expect(spoken.cost).toBeGreaterThan(0);
  const sound = spoken.content[1] as { type: 'audio'; data: string };
  expect(Buffer.from(sound.data, 'base64')).toHaveLength(spoken.result.bytes);
  await noStorage.close();
});

test('a video is started, and found under an address that its caller can reach', async () => {
  const input = { model: 'local/video', prompt: 'a boat', duration: 1, resolution: '480p' };
  const started = await call('create_video', input);
  expect(started.cost).toBeGreaterThan(0);
  expect(started.cost).toBe(started.result.usage.cost);
  const video = async () => (await call('get_video', { video_id: started.result.id })).result;
  await expect.poll(async () => (await video()).status).toBe('completed');
  expect((await fetch((await video()).videos[0].url)).status).toBe(200);
});

test('a wrong input is refused with its field, an unknown model with its code', async () => {
  const wrong = await call('rerank', { model: 'local/rerank', query: '', documents: ['a'] });
  expect(wrong.error).toMatchObject({ code: 'invalid_request', param: 'query' });
  const unknown = await call('chat', { model: 'no/model', messages: [{ role: 'user', content: 'a' }] });
  expect(unknown.error.code).toBe('model_not_found');
  expect(unknown.cost).toBe(0);
  await expect(client.callTool({ name: 'nothing' })).rejects.toThrow('Unknown tool');
});

test('list_models shows the models of one type with their prices', async () => {
  const { result } = await call('list_models', { type: 'image' });
  const ids = result.models.map(({ id }: { id: string }) => id);
  expect(ids).toContain('local/image');
  expect(ids).not.toContain('local/chat');
});

test('other methods of the path are refused', async () => {
  const answer = await fetch(`${stack.url}/mcp`, { headers: { authorization: `Bearer ${stack.key}` } });
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('POST');
});

describe('the inspector in command-line mode', () => {
  let program: string;
  let home: string;
  beforeAll(async () => {
    program = await npmProgram(INSPECTOR, 'mcp-inspector');
    home = await temporaryFolder('inspector');
  }, SET_UP_MS_MAX);

  /** Runs it as docs/mcp.md does. */
  async function inspect<Answer>(...words: string[]): Promise<Answer> {
    const to = ['--cli', `${stack.url}/mcp`, '--transport', 'http'];
    const args = [...to, '--header', `Authorization: Bearer ${stack.key}`, '--method', ...words];
    const env = { ...process.env, HOME: home };
    return JSON.parse((await runCommand(program, args, { env, timeoutMs: INSPECTOR_MS_MAX })).stdout);
  }

  test('lists every tool, and finds no fault in their schemas', async () => {
    const { tools } = await inspect<ListToolsResult>('tools/list', '--strict');
    expect(tools).toEqual((await client.listTools()).tools);
  });

  test('calls a tool, and shows the cost of its log row', async () => {
    const documents = JSON.stringify(['Bread is baked from flour.', 'Computers are rented by the minute.']);
    const args = ['model=local/rerank', 'query=renting a computer', `documents=${documents}`];
    const tool = ['--tool-name', 'rerank', '--tool-arg', ...args];
    const ranked = calledOf(await inspect<CallToolResult>('tools/call', ...tool));
    expect(ranked.result.results[0].index).toBe(1);
    expect(ranked.cost).toBeGreaterThan(0);
    expect(ranked.cost).toBe(await loggedCost(ranked));
  });
});
