// Fifty large bodies at once: all are answered, and no process of ours grows by half of their size.
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AUDIO_BYTES_MAX } from '@switchyard/contracts';
import { startStack, type TestStack, writeTestCatalog } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const CALLS = 50;
const TEST_MS_MAX = 400_000;
/**
 * A process holds 64 MiB of bodies for an org, and V8 frees those of ended requests when a collection ends, which takes
 * longer on a busy machine: edge and router grew by up to 303 MiB. Without limits, bodies take 1,250 MiB.
 */
const GROWTH_MIB_MAX = 600;
const PROCESSES = ['edge', 'model-router', 'control', 'billing', 'nats'];
const SAMPLE_RATE_HZ = 8_000;
const HEAD_BYTES = 44;
/** Seconds charged per audio: 16-bit samples, one channel. */
const SECONDS = Math.round((AUDIO_BYTES_MAX - HEAD_BYTES) / 2 / (SAMPLE_RATE_HZ / 1_000)) / 1_000;

const IMAGE_BYTES = 15 * 1024 * 1024;

const TRANSCRIPTION = { text: 'Hm.', language: 'english', duration: 1 };
const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_741_569_952,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Grey.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 2, total_tokens: 1_002 },
};

let upstream: Server;
let stack: TestStack;

beforeAll(async () => {
  upstream = createServer(async (request, response) => {
    for await (const _ of request); // read to its end
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(request.url === '/v1/chat/completions' ? COMPLETION : TRANSCRIPTION));
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  stack = await startStack({ env: { SWITCHYARD_CATALOG: await writeTestCatalog({ url }) } });
});
afterAll(async () => {
  await stack?.stop();
  upstream?.close();
});

function audio(): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(AUDIO_BYTES_MAX, 0x11);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(SAMPLE_RATE_HZ, 24);
  bytes.writeUInt32LE(SAMPLE_RATE_HZ * 2, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(bytes.length - HEAD_BYTES, 40);
  return bytes;
}

const MULTIPART = () => {
  const form = new FormData();
  form.append('model', 'acme/transcribe-1');
  form.append('file', new Blob([audio()], { type: 'audio/wav' }), 'a.wav');
  return new Response(form);
};
const BASE64 = () =>
  new Response(
    JSON.stringify({
      model: 'acme/transcribe-1',
      media_type: 'audio/wav',
      audio: audio().toString('base64'),
    }),
    { headers: { 'content-type': 'application/json' } },
  );

const CHAT = () => {
  const url = `data:image/png;base64,${Buffer.alloc(IMAGE_BYTES, 7).toString('base64')}`;
  const content = [
    { type: 'text', text: 'What colour is it?' },
    { type: 'image_url', image_url: { url } },
  ];
  return new Response(JSON.stringify({ model: 'acme/chat-1', messages: [{ role: 'user', content }] }), {
    headers: { 'content-type': 'application/json' },
  });
};

/** MiB of memory that a process has now, and its peak since `forgetMost`. */
async function memoryOf(name: string): Promise<{ now: number; most: number }> {
  const status = await readFile(`/proc/${await stack.pidOf(name)}/status`, 'utf8');
  const row = (label: string) => Number(new RegExp(`^${label}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { now: row('VmRSS'), most: row('VmHWM') };
}

/** By proc(5), writing 5 resets the peak to the current size. */
async function forgetMost(name: string): Promise<void> {
  await writeFile(`/proc/${await stack.pidOf(name)}/clear_refs`, '5');
}

const TRANSCRIBED = { duration: SECONDS, usage: { seconds: SECONDS } };

test.each([
  ['transcriptions as multipart', '/v1/audio/transcriptions', MULTIPART, TRANSCRIBED],
  ['transcriptions as base64 in JSON', '/v1/audio/transcriptions', BASE64, TRANSCRIBED],
  ['chats with an image of 20 MB', '/v1/chat/completions', CHAT, { usage: { prompt_tokens: 1_000 } }],
])('fifty %s at once', { timeout: TEST_MS_MAX }, async (_, path, make, expected) => {
  const whole = make();
  const contentType = whole.headers.get('content-type') ?? '';
  const body = Buffer.from(await whole.arrayBuffer());
  await Promise.all(PROCESSES.map(forgetMost));
  const before = await Promise.all(PROCESSES.map(memoryOf));
  const answers = await Promise.all(
    Array.from({ length: CALLS }, async () => {
      const response = await fetch(stack.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${stack.key}`,
          'content-type': contentType,
          connection: 'close', // the edge may close an idle one in the instant in which the next test uses it
        },
        body,
      });
      return { status: response.status, json: (await response.json()) as unknown };
    }),
  );
  const after = await Promise.all(PROCESSES.map(memoryOf));
  for (const { status, json } of answers) {
    expect(json).toMatchObject(expected);
    expect(status).toBe(200);
  }
  const growth = PROCESSES.map((name, index) => [
    name,
    Math.round((after[index]?.most ?? Number.NaN) - (before[index]?.now ?? 0)),
  ]);
  console.info('MiB of growth', Object.fromEntries(growth));
  for (const [name, mib] of growth) expect(mib, `${name}`).toBeLessThan(GROWTH_MIB_MAX);
});
