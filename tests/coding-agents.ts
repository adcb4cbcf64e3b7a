// `npm run test:agents`: Codex and Claude Code, unchanged and in their non-interactive mode, against a stack of its own and a
// scripted upstream. Each is asked to run a command, must run it, and must show what it printed; the bill is exact. Their
// packages take 700 MB, so `npm test` omits them; they are installed once, in the tools cache.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import {
  chatModel,
  startStack,
  type TestStack,
  temporaryFolder,
  writeTestCatalog,
} from '@switchyard/testing';
import { npmProgram } from './__fixtures__/npm-program.ts';

const CODEX = '@openai/codex@0.169.0';
const CLAUDE_CODE = '@anthropic-ai/claude-code@2.1.331';
const AGENT_MS_MAX = 180_000;
const MODEL = 'acme/agent';
/** Only a shell that runs it prints `42`. */
const COMMAND = 'echo found-$((6*7))';
const FOUND = 'found-42';
const PROMPT = `Run the command ${COMMAND} and tell me what it prints.`;
const USAGE = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
/** Nano-dollars of `USAGE` at the prices of `chatModel`. */
const CALL_NANO = 1_000n * 150n + 10n * 600n;
const LOGGED_MS_MAX = 30_000;

interface Tool {
  readonly function: { readonly name: string; readonly parameters?: { properties?: Record<string, Schema> } };
}
interface Schema {
  readonly type?: string | readonly string[];
}
interface Chat {
  readonly stream?: boolean;
  readonly tools?: readonly Tool[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** The first shell among the tools, called with the command; null: the agent has none. */
function shellCall(tools: readonly Tool[]) {
  for (const { function: tool } of tools) {
    const { command, cmd } = tool.parameters?.properties ?? {};
    const shown = command?.type === 'array' ? ['bash', '-c', COMMAND] : COMMAND;
    const given = command ? { command: shown } : cmd ? { cmd: COMMAND } : null;
    if (given)
      return {
        id: 'call_1',
        type: 'function',
        function: { name: tool.name, arguments: JSON.stringify(given) },
      };
  }
  return null;
}

/** Calls the shell first, then repeats what it printed. */
function nextMessage({ messages, tools = [] }: Chat) {
  const last = messages.at(-1);
  if (last?.role === 'tool') return { content: `It prints: ${JSON.stringify(last.content)}` };
  const call = shellCall(tools);
  return call ? { content: null, tool_calls: [{ index: 0, ...call }] } : { content: 'A title' };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chat = (await json(request)) as Chat;
  const message = nextMessage(chat);
  const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
  const head = { id: 'chatcmpl-1', created: 1_741_569_952, model: 'agent' };
  if (!chat.stream) {
    const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage: USAGE }));
    return;
  }
  const chunk = { ...head, object: 'chat.completion.chunk' };
  const delta = { role: 'assistant', ...message };
  const events = [
    { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
    { ...chunk, choices: [], usage: USAGE },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`);
}

/** @returns what the program printed on its standard output */
async function run(program: string, words: string[], env: Record<string, string>): Promise<string> {
  const cwd = await temporaryFolder('agent-work');
  const { PATH = '' } = process.env;
  const child = spawn(program, words, {
    ...{ cwd, env: { PATH, HOME: cwd, ...env }, timeout: AGENT_MS_MAX },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [shown, failed, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  assert.equal(code, 0, `${program} failed: ${shown}${failed}`);
  return shown;
}

async function runCodex({ url, key }: TestStack): Promise<string> {
  const home = await temporaryFolder('codex');
  await mkdir(home, { recursive: true });
  const config = [
    ...[`model = "${MODEL}"`, 'model_provider = "switchyard"', 'web_search = "disabled"'],
    ...['[model_providers.switchyard]', 'name = "Switchyard"', `base_url = "${url}/v1"`],
    ...['env_key = "SWITCHYARD_KEY"', 'wire_api = "responses"'],
  ];
  await writeFile(join(home, 'config.toml'), `${config.join('\n')}\n`);
  const words = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', PROMPT];
  return run(await npmProgram(CODEX, 'codex'), words, { CODEX_HOME: home, SWITCHYARD_KEY: key });
}

async function runClaudeCode({ url, key }: TestStack): Promise<string> {
  const words = ['-p', PROMPT, '--model', MODEL, '--allowedTools', 'Bash'];
  return run(await npmProgram(CLAUDE_CODE, 'claude'), words, {
    ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_DEFAULT_HAIKU_MODEL: MODEL },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
  });
}

/** Checks that a dialect has a log row per request to the upstream, each at `CALL_NANO`. */
async function checkBill({ url, key }: TestStack, dialect: string, requests: number): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const until = Date.now() + LOGGED_MS_MAX;
  let rows: { dialect: string; status: string; cost: number }[] = [];
  while (Date.now() < until && rows.length < requests) {
    const answer = await fetch(`${url}/v1/logs?limit=100`, { headers });
    rows = ((await answer.json()) as { data: typeof rows }).data.filter((row) => row.dialect === dialect);
  }
  assert.equal(rows.length, requests, `${dialect}: ${rows.length} log rows for ${requests} calls`);
  for (const row of rows) {
    assert.equal(row.status, 'ok');
    assert.equal(BigInt(Math.round(row.cost * 1e9)), CALL_NANO);
  }
}

let requests = 0;
const upstream = createServer((request, response) => {
  requests += 1;
  void answer(request, response).catch((error: unknown) => response.destroy(error as Error));
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
const catalog = await writeTestCatalog({ url: base, models: [chatModel(MODEL, base, 'agent')] });
const stack = await startStack({
  services: ['edge', 'control', 'model-router', 'billing'],
  env: { SWITCHYARD_CATALOG: catalog },
});
try {
  for (const [name, dialect, ask] of [
    ['Codex', 'responses', runCodex],
    ['Claude Code', 'messages', runClaudeCode],
  ] as const) {
    requests = 0;
    assert.match(await ask(stack), new RegExp(FOUND), `${name} did not show what the command printed`);
    await checkBill(stack, dialect, requests);
    console.info(`${name}: ran the command in ${requests} calls, each billed exactly`);
  }
} finally {
  await stack.stop();
  upstream.close();
}
