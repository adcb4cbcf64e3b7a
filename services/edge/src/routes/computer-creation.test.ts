// POST /v1/computers as a stream, with the real edge and bus, and with control and client played by the test.
import { once } from 'node:events';
import { connect } from 'node:net';
import { type IncomingCall, serve } from '@switchyard/bus';
import {
  type ComputerObject,
  CREATION_STREAM_SUBJECT,
  creationEvent,
  creationProgress,
  NOTHING_TO_PULL,
  newComputerRecord,
  newId,
  OPERATIONS,
  ServiceError,
  toComputerObject,
} from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

const KEEP_ALIVE_MS = 15_000;
const STREAM = { image: 'a/b', stream: true };
/** Lines of progress that exceed what the bus sends unread. */
const UNREAD_LINES = 20_000;
const computer_id = newId('computer');
let edge: TestEdge;
let secret: string;
/** Creations that control received and the test has not handled yet. */
const asked: IncomingCall[] = [];
let onAsked = () => {};

beforeAll(async () => {
  edge = await startTestEdge();
  secret = await edge.addKey();
  const control = await serve(edge.bus, { name: 'control', version: '0.0.1', description: 'of a test' });
  control.stream(CREATION_STREAM_SUBJECT, (call) => {
    asked.push(call);
    onAsked();
  });
});
afterAll(() => edge?.stop());

async function nextAsked(): Promise<IncomingCall> {
  while (asked.length === 0)
    await new Promise<void>((resolve) => {
      onAsked = resolve;
    });
  return asked.shift()!;
}

function create(body: object, { headers = {} }: { headers?: object } = {}) {
  return fetch(`${edge.url}/v1/computers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Starts a creation, and resolves when control has sent its first line. */
async function begun(options?: { headers?: object }) {
  const answer = create(STREAM, options);
  const call = await nextAsked();
  const tell = beginAnswer(call);
  const response = await answer;
  return { call, tell, response, text: reader(response) };
}

/** Sends control's first line; returns a function that sends another. */
function beginAnswer(call: IncomingCall) {
  call.setHead({ computer_id });
  const tell = (percent: number) =>
    call.write(Buffer.from(`${JSON.stringify({ ...NOTHING_TO_PULL, phase: 'pulling', percent })}\n`));
  tell(0);
  return tell;
}

/** Reads until the given words have arrived. */
function reader({ body }: Response) {
  const pieces = body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let text = '';
  return async (until: string | null): Promise<string> => {
    for (;;) {
      if (until !== null && text.includes(until)) return text;
      const { done, value } = await pieces.next();
      if (done) return text;
      text += value;
    }
  };
}

const eventsOf = (text: string) =>
  [...text.matchAll(/^event: (\w+)\ndata: (.*)\n\n/gm)].map(([, name, data]) => {
    const event = creationEvent.parse(JSON.parse(data ?? ''));
    expect(event.type).toBe(name);
    return event;
  });

test('sends progress as it arrives, keep-alives in silence, and the computer at the end', async () => {
  const { call, tell, response, text } = await begun();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  expect(
    OPERATIONS['computers.create'].request.parse(JSON.parse(String(await call.readBody()))),
  ).toMatchObject({
    body: { image: 'a/b' },
    limited: false,
  });
  await text('"percent":0');
  edge.clock.advance(KEEP_ALIVE_MS);
  await text(': keep-alive\n\n');
  tell(40);
  await text('"percent":40');
  const computer = shown();
  call.end(computer);
  const events = eventsOf(await text(null));
  const progress = (percent: number) =>
    creationProgress.parse({ ...NOTHING_TO_PULL, phase: 'pulling', percent });
  expect(events).toEqual([
    { type: 'progress', computer_id, progress: progress(0) },
    { type: 'progress', computer_id, progress: progress(40) },
    { type: 'computer', computer },
  ]);
});

test('a refusal before the first progress is an error answer; later it is the last event', async () => {
  const why = new ServiceError('computer_limit_reached', 'enough');
  const answer = create({ stream: true });
  (await nextAsked()).fail(why);
  const refused = await answer;
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ error: { code: 'computer_limit_reached' } });

  const { call, response, text } = await begun();
  call.fail(
    new ServiceError('image_unavailable', 'no such image', { param: 'image', details: { reason: 'failed' } }),
  );
  expect(eventsOf(await text(null)).at(-1)).toEqual({
    type: 'error',
    error: {
      code: 'image_unavailable',
      type: 'invalid_request_error',
      message: 'no such image',
      param: 'image',
      details: { reason: 'failed' },
      request_id: response.headers.get('x-request-id'),
    },
  });
});

test('a refused stream leaves no listener that would keep its request in memory', async () => {
  const any = vi.spyOn(AbortSignal, 'any');
  try {
    const answer = create({ stream: true });
    (await nextAsked()).fail(new ServiceError('computer_limit_reached', 'enough'));
    expect((await answer).status).toBe(429);
    expect(any).not.toHaveBeenCalled(); // a signal of several keeps its listeners alive
  } finally {
    any.mockRestore();
  }
});

test('a client that disconnects stops nothing: the edge reads control’s answer to its end', async () => {
  const body = JSON.stringify(STREAM);
  const client = connect(edge.port, '127.0.0.1');
  client.write(
    `POST /v1/computers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const call = await nextAsked();
  const tell = beginAnswer(call);
  await once(client, 'data');
  client.end();
  await once(client, 'close'); // the edge closes its side once it has read the end of the other
  const later = create(STREAM);
  (await nextAsked()).fail(new ServiceError('computer_limit_reached', 'enough'));
  await later;
  expect(call.isCancelled).toBe(false); // a cancellation would have arrived before the later creation
  for (let line = 0; line < UNREAD_LINES; line++) if (!tell(line % 100)) await call.drained();
  call.end(shown());
});

test('a revoked key ends its stream and cancels the creation', async () => {
  const { call, text } = await begun();
  const cancelled = once(call.signal, 'abort');
  await edge.revokeKey(secret);
  expect(eventsOf(await text(null)).at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'invalid_api_key' },
  });
  await cancelled;
  secret = await edge.addKey();
});

test('a stream with an Idempotency-Key creates one computer', async () => {
  const headers = { 'idempotency-key': 'once' };
  const { call, response, text } = await begun({ headers });
  expect(response.status).toBe(200);
  const repeat = await create(STREAM, { headers });
  expect(repeat.status).toBe(409);
  expect(await repeat.json()).toMatchObject({ error: { code: 'idempotency_conflict' } });
  call.fail(new ServiceError('computer_failed', 'it does not start'));
  expect(eventsOf(await text(null)).at(-1)).toMatchObject({ type: 'error' });
  expect(asked).toEqual([]);
});

function shown(): ComputerObject {
  const record = newComputerRecord({
    id: computer_id,
    org: 'org_default',
    key_id: newId('key'),
    host: newId('host'),
    name: 'test',
    image: 'a/b',
    cpu: 0.25,
    memory_mb: 512,
    disk_gb: 10,
    rates: {
      per_minute: '0',
      per_vcpu_minute: '0',
      per_gb_memory_minute: '0',
      per_gb_disk_minute: '0',
    },
    created_at: new Date(edge.clock.now()).toISOString(),
  });
  const view = { limits: { idleStopMs: 1, maxLifetimeMs: 1 }, cost: 0, hostSilent: false };
  return toComputerObject({ ...record, state: 'running' }, view);
}
