// Computers whose images must be pulled, through the whole stack: from a real registry that sends layers at the pace of
// the test.
import { type CreationEvent, type CreationProgress, creationEvent } from '@switchyard/contracts';
import { docker, startRegistry, startStack, type TestRegistry, type TestStack } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from './__fixtures__/first-computer.ts';
import { serverEvents } from './__fixtures__/server-events.ts';

const LAYER_BYTES = 3_000_000;
let stack: TestStack;
let registry: TestRegistry;
/** Releases the held layers. */
let letGo = () => {};

beforeAll(async () => {
  registry = await startRegistry();
  // The registry is on this host's loopback.
  const env = {
    SWITCHYARD_COMPUTERS: 'on',
    SWITCHYARD_WARM_POOL: '0',
    SWITCHYARD_COMPUTER_NETWORKS: '127.0.0.0/8',
  };
  stack = await startStack({ env });
  await untilComputers(stack);
}, SET_UP_MS_MAX);
afterEach(() => {
  letGo();
  registry.fault = () => undefined;
});
afterAll(async () => {
  await stack?.stop();
  const engine = await docker();
  for (const { Id, RepoTags } of (await engine?.listImages()) ?? [])
    if (RepoTags?.some((name) => name.startsWith(registry.address)))
      await engine?.getImage(Id).remove({ force: true });
  await registry?.stop();
});

function send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${stack.url}/v1/computers${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    ...(signal ? { signal } : {}),
  });
}
const create = (body: object, signal?: AbortSignal) =>
  send('POST', '', { cpu: 0.25, memory_mb: 512, ...body }, signal);
// biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
const get = async (path: string): Promise<any> => (await send('GET', path)).json();

/** From now on half of each layer is sent, and the rest when it is released. */
function holdLayers(): void {
  const { promise: until, resolve } = Promise.withResolvers<void>();
  letGo = resolve;
  registry.fault = (path) =>
    /\/blobs\//.test(path) ? { heldAfterBytes: LAYER_BYTES / 2, until } : undefined;
}

/**
 * A streamed creation, read until part of its layer has arrived. The engine reports the first bytes; it reports the
 * next ones only when more arrive. `events` holds all events until then.
 */
async function begunCreation(image: string, signal?: AbortSignal) {
  const response = await create({ image, stream: true }, signal);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const coming = serverEvents(response, creationEvent);
  const events: CreationEvent[] = [];
  for (;;) {
    const { value: event, done } = await coming.next();
    if (done) throw new Error(`the stream ended with ${JSON.stringify(events)}`);
    events.push(event);
    if (event.type === 'progress' && event.progress.bytes_done > 0)
      return { id: event.computer_id, events, coming };
    if (event.type !== 'progress') throw new Error(`the stream ended with ${JSON.stringify(event)}`);
  }
}

test('pull progress is sent as events and shown in the computer; the stream ends with the computer', async () => {
  holdLayers();
  const { id, events, coming } = await begunCreation(
    await registry.push('slow/seen', { bytes: LAYER_BYTES }),
  );
  expect(await get(`/${id}`)).toMatchObject({ id, status: 'creating', progress: { layers_done: 0 } });
  expect((await get('')).data).toMatchObject([{ id, status: 'creating', progress: { layers_done: 0 } }]);
  // The record is written once a second.
  const bytesDone = async () => (await get(`/${id}`)).progress.bytes_done;
  await expect.poll(bytesDone).toBeGreaterThan(0);
  expect((await send('POST', `/${id}/exec`, { command: 'true' })).status).toBe(409);
  letGo();
  for await (const event of coming) events.push(event);
  const told = events.flatMap((event): CreationProgress[] =>
    event.type === 'progress' ? [event.progress] : [],
  );
  const percents = told.map(({ percent }) => percent);
  expect(percents).toEqual(percents.toSorted((one, other) => one - other));
  expect(told[0]).toMatchObject({ phase: 'looking_up', percent: 0 });
  expect(told.at(-1)).toMatchObject({ phase: 'starting', percent: 100 });
  expect(events.at(-1)).toEqual({ type: 'computer', computer: await get(`/${id}`) });
  expect(await get(`/${id}`)).toMatchObject({ status: 'running', minutes: 0 });
  expect((await send('DELETE', `/${id}`)).status).toBe(200);
});

test('an unavailable image is the last event, with code and reason, and takes no slot', async () => {
  const response = await create({ image: `${registry.address}/no/such`, stream: true });
  const events = await Array.fromAsync(serverEvents(response, creationEvent));
  expect(events.at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'image_unavailable', param: 'image', details: { reason: 'not_found' } },
  });
  expect(events.filter(({ type }) => type !== 'progress')).toHaveLength(1);
  expect((await get('')).data).toEqual([]);
});

test('a client that goes away midway loses nothing: the computer is created', async () => {
  holdLayers();
  const gone = new AbortController();
  const image = await registry.push('slow/left', { bytes: LAYER_BYTES });
  const { id } = await begunCreation(image, gone.signal);
  gone.abort();
  letGo();
  const status = async () => (await get(`/${id}`)).status;
  await expect.poll(status).toBe('running');
  expect((await send('DELETE', `/${id}`)).status).toBe(200);
});

test('a computer deleted during its pull is gone at once, and its creator gets an error', async () => {
  holdLayers();
  const image = await registry.push('slow/deleted', { bytes: LAYER_BYTES });
  const { id, coming } = await begunCreation(image);
  expect((await send('DELETE', `/${id}`)).status).toBe(200);
  expect((await Array.fromAsync(coming)).at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'computer_not_found' },
  });
  expect((await get('')).data).toEqual([]);
});

test('an agent killed during a pull: the caller gets an error, and nothing is left behind', async () => {
  holdLayers();
  const image = await registry.push('slow/killed', { bytes: LAYER_BYTES });
  const { id, coming } = await begunCreation(image);
  const { back } = await stack.kill9('computer-agent');
  expect((await Array.fromAsync(coming)).at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'service_unavailable' },
  });
  expect((await send('GET', `/${id}`)).status).toBe(404);
  expect((await get('')).data).toEqual([]);
  await back;
});
