// No accepted body blocks the edge: the longest turn of its event loop is bounded for every body.
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { serve } from '@switchyard/bus';
import {
  CHAT_MESSAGES_MAX,
  COMPUTER_BODY_BYTES_MAX,
  EMBEDDING_INPUTS_MAX,
  MODEL_BODY_BYTES_MAX,
  modelCallSubject,
} from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { MESSAGE_BYTES_MAX, MESSAGE_NODES_MAX } from '../mcp/tool.ts';
import { INLINE_BODY_BYTES_MAX } from './body-checker.ts';
import { JSON_DEPTH_MAX, JSON_NODES_MAX, JSON_VALUES_MAX } from './json-bounds.ts';
import { SMALL_BODY_BYTES_MAX } from './limits.ts';

/** CPU milliseconds in one turn of the event loop. */
const TURN_MS_MAX = 50;
/** One round below the limit is enough: a turn that is inherently too long exceeds it in every round. */
const ROUNDS_MAX = 20;
const PIECE_BYTES = 64 * 1024;

let edge: TestEdge;
let key: string;

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  for (const type of ['language', 'embedding'] as const)
    router.stream(modelCallSubject(type), async (call) => {
      for await (const _piece of call.body());
      call.setHead({ status: 200, content_type: 'application/json' });
      call.end({ cost: '0' }, Buffer.from('{}'));
    });
});
afterAll(() => edge?.stop());

/** CPU time of this thread: pauses on a busy machine do not count, but shared caches make it longer. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The most CPU time between two turns of the event loop during `work`. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let before = computedMs();
  let isOver = false;
  const look = () => {
    const now = computedMs();
    longest = Math.max(longest, now - before);
    before = computedMs();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return longest;
}

/** Sends a body in pieces; returns status and error of the answer. */
async function post(path: string, body: Buffer): Promise<{ status: number | undefined; error: string }> {
  const request = httpRequest(`${edge.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': body.length,
    },
  });
  const answered = once(request, 'response');
  for (let at = 0; at < body.length; at += PIECE_BYTES)
    if (!request.write(body.subarray(at, at + PIECE_BYTES))) await once(request, 'drain');
  request.end();
  const [response] = await answered;
  let text = '';
  for await (const piece of response) text += piece;
  const [, json = text] = /^data: (.*)$/m.exec(text) ?? [];
  return { status: response.statusCode, error: JSON.parse(json).error?.message ?? '' };
}

const CHAT = '/v1/chat/completions';
const LARGEST = MODEL_BODY_BYTES_MAX - 200;
const chat = (messages: string) => `{"model":"acme/any","messages":[${messages}]}`;
const text = (content: string) => chat(`{"role":"user","content":"${content}"}`);
/** As many elements as fit, separated by commas. */
const fill = (bytes: number, element: string) =>
  `${element},`.repeat(Math.floor(bytes / (element.length + 1))).slice(0, -1);
const map = (bytes: number, value: string) => {
  const member = (n: number) => `"k${n.toString(36).padStart(5, '0')}":${value}`;
  return Array.from({ length: Math.floor(bytes / (member(0).length + 1)) }, (_, n) => member(n)).join(',');
};
const tool = (members: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{${members}}}}`;
const question = '{"type":"boolean","instructions":"Is it?"}';

test.each<[string, string, () => string, number, RegExp]>([
  ['900 KB of empty messages', CHAT, () => chat(fill(900_000, '{}')), 400, /more than \d+ objects/],
  ['32 MiB of empty messages', CHAT, () => chat(fill(LARGEST, '{}')), 400, /more than \d+ objects/],
  ['32 MiB of numbers', CHAT, () => chat(fill(LARGEST, '1')), 400, /more than \d+ values/],
  [
    'messages one over the limit',
    CHAT,
    () => chat(fill(3 * (CHAT_MESSAGES_MAX + 1), '{}')),
    400,
    /1 to 10000 elements/,
  ],
  ['wrong parts', CHAT, () => chat(`{"role":"user","content":[${fill(60_000, '{}')}]}`), 400, /content/],
  ['deep lists', CHAT, () => chat('['.repeat(LARGEST)), 400, /levels deep/],
  ['one long ASCII text', CHAT, () => text('a'.repeat(LARGEST)), 200, /^$/],
  ['one long Chinese text', CHAT, () => text('漢'.repeat(LARGEST / 3)), 200, /^$/],
  ['one long text of escapes', CHAT, () => text('\\n'.repeat(LARGEST / 2)), 200, /^$/],
  ['one long text of escaped quotes', CHAT, () => text('\\"'.repeat(LARGEST / 2)), 200, /^$/],
  ['invalid JSON', CHAT, () => 'x'.repeat(LARGEST), 400, /not JSON/],
  [
    'the maximum number of nodes',
    CHAT,
    () =>
      `${chat('{"role":"user","content":""}').slice(0, -1)},"x":{${map(12 * (JSON_NODES_MAX - 20), '""')}}}`,
    200,
    /^$/,
  ],
  [
    'the maximum number of stream options',
    CHAT,
    () =>
      `${chat('{"role":"user","content":""}').slice(0, -1)},"stream_options":{${map(12 * (JSON_NODES_MAX - 20), '""')}}}`,
    200,
    /^$/,
  ],
  [
    'the maximum number of messages',
    CHAT,
    () => chat(Array(CHAT_MESSAGES_MAX).fill('{"role":"user","content":"Hello!"}').join(',')),
    200,
    /^$/,
  ],
  [
    'the maximum number of members without the thread',
    CHAT,
    () => `${chat('{"role":"user"}').slice(0, -1)},"x":{${map(INLINE_BODY_BYTES_MAX - 100, '1')}}}`,
    200,
    /^$/,
  ],
  [
    'the maximum number of tokens',
    '/v1/embeddings',
    () =>
      `{"model":"acme/any","input":[${Array(EMBEDDING_INPUTS_MAX)
        .fill(`[${fill((2 * (JSON_VALUES_MAX - EMBEDDING_INPUTS_MAX)) / EMBEDDING_INPUTS_MAX, '7')}]`)
        .join(',')}]}`,
    200,
    /^$/,
  ],
  [
    'too many questions',
    '/v1/decisions',
    () => `{"model":"acme/any","state":"","questions":{${map(1_000_000, question)}}}`,
    400,
    /1 to 300 entries/,
  ],
  [
    'too much metadata',
    '/v1/responses',
    () => `{"model":"acme/any","input":"","metadata":{${map(12 * (JSON_NODES_MAX - 20), '"x"')}}}`,
    400,
    /0 to 16 entries/,
  ],
  [
    'a video image in an invalid request',
    '/v1/videos/generations',
    () => `{"model":"acme/any","prompt":"a cat","image":"data:image/png;base64,${'A'.repeat(LARGEST)}"}`,
    400,
    /duration/,
  ],
  [
    'a command with too many environment variables',
    '/v1/computers/cmp_x/exec',
    () => `{"command":"true","env":{${map(COMPUTER_BODY_BYTES_MAX / 4, '"x"')}}}`,
    400,
    /0 to 256 entries/,
  ],
  [
    'audio of escapes',
    '/v1/audio/transcriptions',
    () => `{"model":"acme/any","media_type":"audio/wav","audio":"${'\\n'.repeat(1_000_000)}"}`,
    400,
    /is empty/,
  ],
  [
    'a tool of MCP with too many arguments',
    '/mcp',
    () => tool(map(MESSAGE_BYTES_MAX - 200, '1')),
    400,
    /more than \d+ objects/,
  ],
  [
    'the maximum number of arguments of a tool of MCP',
    '/mcp',
    () => tool(map(11 * (MESSAGE_NODES_MAX - 20), '1')),
    200,
    /^$/,
  ],
  [
    'a small body with too many fields',
    '/v1/keys',
    () => `{${map(SMALL_BODY_BYTES_MAX - 10, '1')}}`,
    400,
    /name|field/,
  ],
])('%s does not block the event loop', async (_what, path, body, status, error) => {
  const bytes = Buffer.from(body());
  let longest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS_MAX && longest >= TURN_MS_MAX; round += 1)
    longest = await longestTurn(async () => {
      const answer = await post(path, bytes);
      expect(answer).toEqual({ status, error: expect.stringMatching(error) });
    });
  expect(longest).toBeLessThan(TURN_MS_MAX);
});

test(`${JSON_DEPTH_MAX} levels are accepted, one more is refused`, async () => {
  const nested = (levels: number) => {
    const open = chat('{"role":"user"}').slice(0, -1);
    return Buffer.from(`${open},"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`);
  };
  expect((await post(CHAT, nested(JSON_DEPTH_MAX))).status).toBe(200);
  expect((await post(CHAT, nested(JSON_DEPTH_MAX + 1))).status).toBe(400);
});
