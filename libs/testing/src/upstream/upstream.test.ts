import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { catalogFile, MODEL_TYPES } from '@switchyard/contracts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FIXTURES, startUpstream, type Upstream, writeTestCatalog } from './index.ts';

let upstream: Upstream;
beforeEach(async () => {
  upstream = await startUpstream();
});
afterEach(() => upstream.close());

function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(`${upstream.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mark': 'seen' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

function chat(model: string, more: Record<string, unknown> = {}, signal?: AbortSignal): Promise<Response> {
  return post(
    '/chat/completions',
    { model, messages: [{ role: 'user', content: 'Hello!' }], ...more },
    signal,
  );
}

const streamed = { stream: true, stream_options: { include_usage: true } };

describe('the test upstream', () => {
  it('gives the documented answer and keeps what it was sent, headers included', async () => {
    const response = await chat('gpt-4o-mini', { user: 'u_1' });
    expect(await response.json()).toEqual(FIXTURES.text);
    expect(upstream.requests).toHaveLength(1);
    expect(upstream.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      model: 'gpt-4o-mini',
      json: { user: 'u_1' },
      headers: { 'x-mark': 'seen' },
    });
  });

  it('streams the same text, with usage only if asked for', async () => {
    const text = await (await chat('gpt-4o-mini', streamed)).text();
    const events = text.split('\n\n').filter((event) => event !== '');
    expect(events.at(-1)).toBe('data: [DONE]');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)));
    const content = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(content).toBe('Hello! How can I assist you today?');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: FIXTURES.text.usage });
    expect(await (await chat('gpt-4o-mini', { stream: true })).text()).not.toContain('usage');
  });

  it('answers tools, structured output, images and n in kind', async () => {
    const tools = [{ type: 'function', function: { name: 'get_current_weather' } }];
    expect(await (await chat('m', { tools })).json()).toMatchObject({
      choices: [{ finish_reason: 'tool_calls' }],
    });
    const structured = await (await chat('m', { response_format: { type: 'json_object' } })).json();
    expect(JSON.parse((structured as typeof FIXTURES.structured).choices[0]?.message.content ?? '')).toEqual({
      name: 'Science Fair',
      date: 'Friday',
      participants: ['Alice', 'Bob'],
    });
    expect(await (await chat('m', { n: 2 })).json()).toMatchObject({ choices: [{ index: 0 }, { index: 1 }] });
  });

  it('embeds in both encodings to the same numbers', async () => {
    const ask = async (format: string) => {
      const response = await post('/embeddings', { model: 'e', input: ['a', 'b'], encoding_format: format });
      return (await response.json()) as { data: { embedding: number[] | string }[] };
    };
    const [floats, base64] = [await ask('float'), await ask('base64')];
    const bytes = Buffer.from(base64.data[1]?.embedding as string, 'base64');
    const decoded = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
    const expected = floats.data[1]?.embedding as number[];
    expect(decoded).toEqual(expected.map(Math.fround));
    expect(floats.data[0]?.embedding).not.toEqual(floats.data[1]?.embedding);
  });

  it.each([
    ['400', 400],
    ['401', 401],
    ['404', 404],
    ['429', 429],
    ['500', 500],
    ['503', 503],
    ['context', 400],
    ['policy', 400],
  ])('fails with %s on demand', async (fault, status) => {
    const response = await chat(`m+fault-${fault}`);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual(FIXTURES.errors[fault]);
  });

  it('cuts a stream, ends it with an error event, or parts it with CRLF', async () => {
    await expect(chat('m+cut-2', streamed).then((response) => response.text())).rejects.toThrow();
    expect(await (await chat('m+error-2', streamed)).text()).toMatch(/"server_error"[^\n]*\n\n$/);
    expect(await (await chat('m+crlf', streamed)).text()).toContain('\r\n\r\ndata: [DONE]\r\n\r\n');
  });

  it('withholds usage, or tells of cached tokens', async () => {
    expect(await (await chat('m+nousage')).json()).not.toHaveProperty('usage');
    expect(await (await chat('m+cached')).json()).toMatchObject({
      usage: { prompt_tokens_details: { cached_tokens: 1_920 } },
    });
  });

  it('notices when the client of a stalled stream goes away', async () => {
    const client = new AbortController();
    const response = await chat('m+stall-1', streamed, client.signal);
    expect(response.status).toBe(200);
    const request = await upstream.request('m+stall-1');
    client.abort();
    expect(await request.over).toBe('cut');
  });

  it('streams megabytes only as fast as they are read', async () => {
    const response = await chat('m+megabytes-4', streamed);
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    expect(bytes).toBeGreaterThan(4 * 1024 * 1024);
    expect(await (await upstream.request('m+megabytes-4')).over).toBe('answered');
  });

  it('lets a test answer in its own way, and refuses a behaviour that it does not know', async () => {
    upstream.on('mine', (_, response) => void response.writeHead(418).end());
    expect((await chat('mine')).status).toBe(418);
    const { behaviourOf } = await import('./behaviours.ts');
    expect(() => behaviourOf('m+latncy-3')).toThrow('latncy-3');
  });
});

describe('the test catalog', () => {
  it('has a model of every type, and is a valid catalog', async () => {
    const path = await writeTestCatalog({ url: upstream.url });
    const { models } = catalogFile.parse(JSON.parse(await readFile(path, 'utf8')));
    expect(models.map(({ type }) => type).sort()).toEqual(Object.keys(MODEL_TYPES).sort());
    await rm(dirname(path), { recursive: true });
  });
});
