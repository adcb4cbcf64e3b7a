// Creates the first computer of a stack. While a fresh machine builds the standard image, or a starting host is still
// unknown, a creation gets 503 `no_capacity` and is retried.
import type { ComputerObject } from '@switchyard/contracts';
import type { TestStack } from '@switchyard/testing';
import { vi } from 'vitest';

const MINUTE_MS = 60_000;
const LOOK_MS = 1_000;
/** The image is built within some minutes, also on a busy machine. */
const IMAGE_MS_MAX = 10 * MINUTE_MS;
/** Timeout of a hook that starts a stack and creates its first computer. */
export const SET_UP_MS_MAX = IMAGE_MS_MAX + 5 * MINUTE_MS;

const SMALLEST = { cpu: 0.25, memory_mb: 512 };

/** Resolves with the computer when it runs; rejects at once with any answer other than `no_capacity`. */
export async function firstComputer(
  { url, key }: Pick<TestStack, 'url' | 'key'>,
  body: object = SMALLEST,
): Promise<ComputerObject> {
  const create = async () => {
    const answer = await fetch(`${url}/v1/computers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { status } = answer;
    const said = await answer.text();
    const isWaiting = status === 503 && JSON.parse(said).error.code === 'no_capacity';
    if (isWaiting) throw new Error(said);
    return { status, said };
  };
  const { status, said } = await vi.waitFor(create, { timeout: IMAGE_MS_MAX, interval: LOOK_MS });
  if (status !== 201) throw new Error(`no computer could be created: ${status} ${said}`);
  return JSON.parse(said) as ComputerObject;
}

/** Resolves when computers can be created; leaves none. */
export async function untilComputers(stack: Pick<TestStack, 'url' | 'key'>): Promise<void> {
  const { id } = await firstComputer(stack);
  const headers = { authorization: `Bearer ${stack.key}` };
  const deleted = await fetch(`${stack.url}/v1/computers/${id}`, { method: 'DELETE', headers });
  if (deleted.status !== 200) throw new Error(`${deleted.status}: ${await deleted.text()}`);
  await deleted.arrayBuffer();
}
