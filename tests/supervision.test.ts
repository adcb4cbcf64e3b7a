/** `npm start` keeps its promise: whatever is killed serves again, on the same addresses, with the same data. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let stack: TestStack;
let compiled: string;

beforeAll(async () => {
  compiled = join(await temporaryFolder('compiled'), 'cache');
  stack = await startStack({ env: { NODE_COMPILE_CACHE: compiled }, ownMongo: true });
});
afterAll(() => stack?.stop());

const getModels = () =>
  fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${stack.key}` } });

test('every endpoint serves when the ready line is there', async () => {
  const response = await getModels();
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ object: 'list' });
});

test.each(['edge', 'control', 'model-router', 'billing', 'nats', 'mongo'])(
  '%s is killed and serves again',
  async (name) => {
    const before = await stack.pidOf(name);
    const { back } = await stack.kill9(name);
    await back;
    expect(await stack.pidOf(name)).not.toBe(before);
    // Clients may need a moment to reconnect.
    const answer = async () => {
      const response = await getModels();
      return `${response.status} ${await response.text()}`;
    };
    await expect.poll(answer).toMatch(/^200 /);
  },
);

test('the compile cache of killed services is kept', async () => {
  expect(await readdir(compiled, { recursive: true })).not.toEqual([]);
});

test('a stop drains all and exits 0', async () => {
  expect(await stack.stop()).toBe(0);
  expect(stack.output()).toContain('stopped');
  await expect(getModels()).rejects.toThrow();
});
