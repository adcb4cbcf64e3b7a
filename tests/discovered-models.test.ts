// Models that a server reports, on the full stack: listed, found by their ids, called and billed.
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type ModelServers,
  startModelServers,
} from '../services/model-router/src/catalog/discovery/__fixtures__/model-servers.ts';

const LONG = 'ollama/hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M';

const DISCOVERED_MS_MAX = 60_000;

let server: ModelServers;
let stack: TestStack;

beforeAll(async () => {
  server = await startModelServers();
  stack = await startStack({
    services: ['edge', 'control', 'model-router', 'billing'],
    env: {
      SWITCHYARD_OLLAMA_URL: server.url,
      SWITCHYARD_VLLM_URL: server.url,
      SWITCHYARD_DISCOVERED_INPUT_TOKEN_PRICE: '0.000001',
    },
  });
  // The router does not wait long for the first answers of the servers.
  const found = async (id: string) => expect((await get(`/v1/models/${id}`)).status).toBe(200);
  for (const id of [LONG, 'vllm/Qwen/Qwen3-8B']) await vi.waitFor(() => found(id), DISCOVERED_MS_MAX);
});
afterAll(async () => {
  await stack?.stop();
  await server?.close();
});

const headers = () => ({ authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' });
const get = (path: string) => fetch(stack.url + path, { headers: headers() });
const chat = (model: string) =>
  fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  });

test.each([LONG, 'ollama/llama3:latest', 'vllm/Qwen/Qwen3-8B'])(
  '%s is listed, found, answers under its own name and costs what the setting says',
  async (id) => {
    const found = await get(`/v1/models/${id}`);
    expect(found.status).toBe(200);
    expect(await found.json()).toMatchObject({ id, type: 'language', available: true });
    const response = await chat(id);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ model: id, usage: { prompt_tokens: 26, cost: 0.000026 } });
    expect(server.asked).toContain(`POST /v1/chat/completions ${id.slice(id.indexOf('/') + 1)}`);
  },
);

test('a model of another type is sent to its own endpoint', async () => {
  const response = await chat('ollama/nomic-embed-text:latest');
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'wrong_endpoint' } });
});
