import { type ChildProcess, fork } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pageOf, ServiceError } from '@switchyard/contracts';
import { startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { usageEvent } from './__fixtures__/usage-event.ts';
import { encodeFrame, FRAME } from './frame.ts';
import {
  type Bus,
  connectBus,
  ensureEventsStream,
  type IncomingCall,
  openReply,
  request,
  requestWhole,
  type ServiceHost,
  serve,
} from './index.ts';
import { ACK_WAIT_MS_MAX, FRAME_BYTES_MAX, PEER_SILENT_MS_MAX, SWEEP_MS, WINDOW_BYTES } from './limits.ts';

const logger = pino({ level: 'silent' });
let nats: TestServer;
const open: Bus[] = [];

async function bus(service: string, url = nats.url): Promise<Bus> {
  const connected = await connectBus({ url, service, logger });
  open.push(connected);
  return connected;
}

async function host(name = 'echo', on?: Bus): Promise<ServiceHost> {
  return serve(on ?? (await bus(name)), { name, version: '0.0.1', description: 'of a test' });
}

interface Answer {
  head: unknown;
  body: Buffer;
  end: unknown;
}

/** Makes a call and collects its answer. */
function ask(caller: Bus, subject: string, head: unknown, body?: Uint8Array): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  let answerHead: unknown;
  const chunks: Buffer[] = [];
  const call = caller.call(
    { subject, head, ...(body === undefined ? {} : { body }) },
    {
      onHead: (received) => {
        answerHead = received;
      },
      onData: (bytes) => {
        chunks.push(Buffer.from(bytes));
        call.consumed(bytes.length);
      },
      onEnd: (end, last) => resolve({ head: answerHead, body: Buffer.concat([...chunks, last]), end }),
      onError: reject,
    },
  );
  return promise;
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  nats = await startNats();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(() => nats.stop());

describe('a call', () => {
  test('carries head and body to the service, and head, body and end back', async () => {
    const service = await host();
    service.stream('echo.v1.call', async (call) => {
      call.setHead({ got: call.head });
      call.end({ cost: '0.1' }, await call.readBody());
    });
    const answer = await ask(await bus('caller'), 'echo.v1.call', { model: 'a\r\nb' }, Buffer.from('hällo'));
    expect(answer).toEqual({
      head: { got: { model: 'a\r\nb' } },
      body: Buffer.from('hällo'),
      end: { cost: '0.1' },
    });
  });

  test('carries a 20 MB body both ways, byte for byte', async () => {
    const service = await host();
    service.stream('echo.v1.big', async (call) => {
      const body = await call.readBody();
      call.setHead(null);
      for (let at = 0; at < body.length; at += 1_000_000)
        if (!call.write(body.subarray(at, at + 1_000_000))) await call.drained();
      call.end(null);
    });
    const body = randomBytes(20 * 1024 * 1024);
    const answer = await ask(await bus('caller'), 'echo.v1.big', null, body);
    expect(sha256(answer.body)).toBe(sha256(body));
  });

  test('pauses its producer while the reader is idle: at most one window is in flight', async () => {
    const service = await host();
    let written = 0;
    const stalled = Promise.withResolvers<void>();
    service.stream('echo.v1.flood', async (call) => {
      call.setHead(null);
      const piece = Buffer.alloc(FRAME_BYTES_MAX);
      for (let n = 0; n < 800 && !call.isCancelled; n += 1) {
        written += piece.length;
        if (call.write(piece)) continue;
        stalled.resolve();
        await call.drained();
      }
      call.end(null);
    });
    const caller = await bus('caller');
    let received = 0;
    const call = caller.call(
      { subject: 'echo.v1.flood', head: null },
      {
        onHead() {},
        onData: (bytes) => {
          received += bytes.length;
        },
        onEnd() {},
        onError() {},
      },
    );
    await stalled.promise;
    await caller.nc.flush();
    expect(received).toBeLessThanOrEqual(WINDOW_BYTES + FRAME_BYTES_MAX);
    expect(written).toBeLessThanOrEqual(WINDOW_BYTES + 2 * FRAME_BYTES_MAX);
    call.cancel();
  });

  test('whose service ignores the credit fails, and its bytes do not fill the memory of the caller', async () => {
    const flood = await bus('echo');
    flood.nc.subscribe('echo.v1.flood', {
      callback: (_, { reply = '' }) => {
        const send = (kind: Parameters<typeof encodeFrame>[0], seq: number, meta: string, bytes?: Buffer) =>
          flood.nc.publish(reply, encodeFrame(kind, seq, meta, bytes));
        send(FRAME.head, 0, '{"head":null}');
        for (let seq = 1; seq <= 8; seq += 1) send(FRAME.data, seq, '', Buffer.alloc(FRAME_BYTES_MAX));
        send(FRAME.end, 9, '{"end":null}');
      },
    });
    await flood.nc.flush();
    const reply = await openReply(await bus('caller'), { subject: 'echo.v1.flood', head: null });
    await expect(reply.end).rejects.toMatchObject({ code: 'service_unavailable' }); // nothing was read meanwhile
  });

  test('ends on the other side when it is cancelled, before the first frame and in mid-stream', async () => {
    const service = await host();
    const taken: IncomingCall[] = [];
    const ended: Promise<unknown>[] = [];
    const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    service.stream('echo.v1.wait', (call) => {
      ended.push(once(call.signal, 'abort'));
      if (taken.push(call) === 2) {
        call.setHead(null);
        call.write(Buffer.from('first'));
      }
      arrived[taken.length - 1]?.resolve();
    });
    const caller = await bus('caller');
    const early = caller.call(
      { subject: 'echo.v1.wait', head: null },
      { onHead() {}, onData() {}, onEnd() {}, onError() {} },
    );
    await arrived[0]?.promise;
    early.cancel();
    await ended[0];
    const late = Promise.withResolvers<void>();
    const call = caller.call(
      { subject: 'echo.v1.wait', head: null },
      { onHead() {}, onData: () => late.resolve(), onEnd() {}, onError() {} },
    );
    await late.promise;
    call.cancel();
    await ended[1];
    expect(caller.openCalls.outgoing).toBe(0);
  });

  test('passes coded errors on unchanged and masks all others', async () => {
    const service = await host();
    service.stream('echo.v1.coded', () => {
      throw new ServiceError('invalid_request', 'cpu: too much', { param: 'cpu', details: { max: 4 } });
    });
    service.stream('echo.v1.fault', async () => {
      throw new Error('the password is hunter2');
    });
    const caller = await bus('caller');
    await expect(ask(caller, 'echo.v1.coded', null)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'cpu: too much',
      param: 'cpu',
      details: { max: 4 },
    });
    const fault = await ask(caller, 'echo.v1.fault', null).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'internal_error' });
    expect(String(fault)).not.toContain('hunter2');
  });

  test('whose frame is too large for a message fails alone: both processes and other calls continue', async () => {
    const tooLarge = 'x'.repeat(2_000_000);
    const service = await host();
    service.stream('echo.v1.head', (call) => {
      call.setHead(tooLarge);
      call.write(Buffer.from('a beginning'));
    });
    service.stream('echo.v1.quick', (call) => call.end('done'));
    const caller = await bus('caller');
    await expect(ask(caller, 'echo.v1.quick', tooLarge)).rejects.toMatchObject({ code: 'body_too_large' });
    await expect(ask(caller, 'echo.v1.head', null)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await ask(caller, 'echo.v1.quick', null)).toMatchObject({ end: 'done' });
  });

  test('that fails with a message too large for the bus gets its beginning', async () => {
    const service = await host();
    service.stream('echo.v1.wordy', () => {
      throw new ServiceError('invalid_request', 'x'.repeat(2_000_000), { param: 'y'.repeat(2_000_000) });
    });
    const error = await ask(await bus('caller'), 'echo.v1.wordy', null).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(/^x{1000,}$/) });
  });

  test.each(['onHead', 'onEnd'])(
    'whose %s throws at the caller fails alone: other calls continue',
    async (method) => {
      const service = await host();
      service.stream('echo.v1.quick', (call) => call.end('done'));
      const caller = await bus('caller');
      const { promise: failed, resolve } = Promise.withResolvers<ServiceError>();
      const sink = { onHead() {}, onData() {}, onEnd() {}, onError: resolve };
      const unreadable = () => {
        throw new Error('unreadable');
      };
      caller.call({ subject: 'echo.v1.quick', head: null }, { ...sink, [method]: unreadable });
      expect(await failed).toMatchObject({ code: 'internal_error' });
      expect(await ask(caller, 'echo.v1.quick', null)).toMatchObject({ end: 'done' });
      expect(caller.openCalls.outgoing).toBe(0);
    },
  );

  test('that begins when its bus is closed fails at once', async () => {
    const closed = await bus('caller');
    await closed.close();
    const asked = ask(closed, 'echo.v1.call', null);
    await expect(asked).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(closed.openCalls.outgoing).toBe(0);
  });

  test('whose cancellation throws at the service fails alone: the service takes other calls', async () => {
    const service = await host();
    const taken = Promise.withResolvers<void>();
    service.stream('echo.v1.wait', (call) => {
      call.onCancelled(() => {
        throw new Error('a fault');
      });
      taken.resolve();
    });
    service.stream('echo.v1.quick', (call) => call.end('done'));
    const caller = await bus('caller');
    const sink = { onHead() {}, onData() {}, onEnd() {}, onError() {} };
    const call = caller.call({ subject: 'echo.v1.wait', head: null }, sink);
    await taken.promise;
    call.cancel();
    await caller.nc.flush();
    expect(await ask(caller, 'echo.v1.quick', null)).toMatchObject({ end: 'done' });
  });

  test('waits for a service that is restarting, and fails when no instance comes up', async () => {
    const [caller, late] = [await bus('caller'), await bus('late')];
    const early = expect(ask(caller, 'late.v1.call', null)).resolves.toMatchObject({ end: 'here' });
    const unavailable = { code: 'service_unavailable' };
    const never = expect(ask(caller, 'never.v1.call', null)).rejects.toMatchObject(unavailable);
    await caller.nc.flush(); // the call was offered, and no instance existed
    const service = await host('late', late);
    service.stream('late.v1.call', (call) => call.end('here'));
    await Promise.all([early, never]);
  });

  test('ends about 5 s after the process that serves it dies', async () => {
    const child: ChildProcess = fork(join(import.meta.dirname, '__fixtures__/silent-service.ts'), [nats.url]);
    const words = { ready: once(child, 'message') };
    await words.ready;
    const taken = once(child, 'message');
    const outcome = ask(await bus('caller'), 'silent.v1.call', null).catch((error: unknown) => error);
    await taken;
    child.kill('SIGKILL');
    expect(await outcome).toMatchObject({ code: 'service_unavailable' });
    expect(PEER_SILENT_MS_MAX + SWEEP_MS).toBeLessThan(5_000); // the delay by design; the machine adds its own
  });

  test('continues when its own process was paused and received nothing', async () => {
    const child: ChildProcess = fork(join(import.meta.dirname, '__fixtures__/silent-service.ts'), [nats.url]);
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const taken = once(child, 'message');
    const outcome = ask(await bus('caller'), 'silent.v1.call', null).catch((error: unknown) => error);
    await taken;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PEER_SILENT_MS_MAX + SWEEP_MS);
    expect(await Promise.race([outcome, delay(2 * SWEEP_MS, 'on')])).toBe('on');
    child.kill('SIGKILL');
    await outcome;
  });

  test('ends when the NATS server dies, and later calls succeed as soon as the server is back', async () => {
    const service = await host();
    const arrived = Promise.withResolvers<IncomingCall>();
    service.stream('echo.v1.hold', (call) => arrived.resolve(call));
    service.stream('echo.v1.quick', (call) => call.end('done'));
    const caller = await bus('caller');
    const held = ask(caller, 'echo.v1.hold', null).catch((error: unknown) => error);
    const incoming = await arrived.promise;
    await nats.kill9();
    expect(await held).toMatchObject({ code: 'service_unavailable' });
    // Retried, because the server may be down for longer than a call waits.
    const next = expect.poll(() => ask(caller, 'echo.v1.quick', null)).toMatchObject({ end: 'done' });
    await Promise.all([nats.restart(), next]);
    expect(incoming.isCancelled).toBe(true);
  });
});

describe('a connection that reconnects while the other end stays connected', () => {
  test('ends the calls that its instance served: their answers are lost', async () => {
    const wire = await cuttable();
    const service = await serve(await bus('echo', wire.url), {
      name: 'echo',
      version: '0.0.1',
      description: 'of a test',
    });
    service.stream('echo.v1.call', (call) => {
      call.write(Buffer.from('a beginning'));
    });
    const caller = await bus('caller');
    const { promise: ended, resolve } = Promise.withResolvers<ServiceError>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    caller.call(
      { subject: 'echo.v1.call', head: null },
      { onHead: () => {}, onData: () => begin(), onEnd: () => {}, onError: resolve },
    );
    await begun;
    wire.cut();
    expect(await ended).toMatchObject({ code: 'service_unavailable' });
    expect(caller.openCalls.outgoing).toBe(0);
  });

  test('ends the calls that its instance made, on the other side too', async () => {
    const wire = await cuttable();
    const service = await host();
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    service.stream('echo.v1.call', (call) => {
      call.onCancelled(resolve);
      call.write(Buffer.from('a beginning'));
    });
    const caller = await bus('caller', wire.url);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    caller.call(
      { subject: 'echo.v1.call', head: null },
      { onHead: () => {}, onData: () => begin(), onEnd: () => {}, onError: () => {} },
    );
    await begun;
    wire.cut();
    await gone;
    await service.drain();
  });
});

test('a call that is cancelled while its end waits for its reader is over once: a drain waits for the others', async () => {
  const serving = await bus('echo');
  const service = await host('echo', serving);
  const taken = Promise.withResolvers<IncomingCall>();
  const cancelled = Promise.withResolvers<void>();
  service.stream('echo.v1.held', (call) => taken.resolve(call));
  service.stream('echo.v1.long', (call) => {
    call.onCancelled(cancelled.resolve);
    call.setHead(null);
    call.end(null, Buffer.alloc(2 * WINDOW_BYTES));
  });
  const caller = await bus('caller');
  const answer = ask(caller, 'echo.v1.held', null);
  const held = await taken.promise;
  const begun = Promise.withResolvers<void>();
  const unread = caller.call(
    { subject: 'echo.v1.long', head: null },
    { onHead() {}, onData: () => begun.resolve(), onEnd() {}, onError() {} },
  );
  await begun.promise;
  unread.cancel();
  await cancelled.promise;
  const ends: string[] = [];
  const drained = service.drain().then(() => ends.push('drained'));
  for (let round = 0; round < 20; round += 1) await serving.nc.flush(); // one that does not wait is over by then
  ends.push('answered');
  held.setHead(null);
  held.end(null);
  await Promise.all([answer, drained]);
  expect(ends).toEqual(['answered', 'drained']);
});

test('a call in the name of another instance, with a newer connection, ends none of its calls', async () => {
  const service = await host();
  const taken = Promise.withResolvers<IncomingCall>();
  const forged = Promise.withResolvers<void>();
  service.stream('echo.v1.held', (call) => taken.resolve(call));
  service.stream('echo.v1.forged', () => forged.resolve());
  const caller = await bus('caller');
  const answer = ask(caller, 'echo.v1.held', null);
  const call = await taken.promise;
  const meta = { from: caller.instance, link: 9, credit: 0, more: false, head: null };
  const reply = `_C.echo.${caller.instance}.guessed`;
  const thief = await bus('thief');
  thief.nc.publish('echo.v1.forged', encodeFrame(FRAME.open, 0, JSON.stringify(meta)), { reply });
  await forged.promise;
  await delay(2 * SWEEP_MS); // the service has looked for lost peers since
  call.end('done');
  expect(await answer).toMatchObject({ end: 'done' });
});

/** A proxy to the NATS server that can cut its connections. */
async function cuttable(): Promise<{ url: string; cut: () => void }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connectSocket(Number(new URL(nats.url).port), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => {}); // the test cuts this connection
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe('the end of a call with a usage event', () => {
  test('reaches the caller only after the event is stored', async () => {
    const service = await host();
    service.stream('echo.v1.priced', (call) =>
      call.end({ cost: '1' }, Buffer.from('answer'), usageEvent('req_stored')),
    );
    const caller = await bus('caller');
    await ensureEventsStream(caller);
    const answer = await ask(caller, 'echo.v1.priced', null);
    expect(answer.body.toString()).toBe('answer');
    const stored = await caller.jsm.streams.getMessage('EVENTS', {
      last_by_subj: 'event.v1.call.voided.org_x',
    });
    expect(stored?.json()).toEqual(usageEvent('req_stored'));
    expect(stored?.header.get('Nats-Msg-Id')).toBe('req_stored');
  });

  test('is an error when the event cannot be stored, after publishing it again', async () => {
    const service = await host();
    service.stream('echo.v1.lost', (call) =>
      call.end({ cost: '1' }, Buffer.from('answer'), usageEvent('req_lost')),
    );
    const caller = await bus('caller');
    await caller.jsm.streams.delete('EVENTS');
    await expect(ask(caller, 'echo.v1.lost', null)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(caller.admitBillable()).toBe(false);
    const answered = ask(caller, 'echo.v1.lost', null).then(({ body }) => body.toString());
    const late = expect(answered).resolves.toBe('answer');
    await ensureEventsStream(caller);
    await late;
    expect([caller.admitBillable(), caller.admitBillable()]).toEqual([true, true]);
  });

  test('reaches a slow reader also when its event was lost at first and stored after seconds', async () => {
    const echo = await bus('echo');
    const answer = Buffer.alloc(4 * WINDOW_BYTES);
    (await host('echo', echo)).stream('echo.v1.large', (call) =>
      call.end({ cost: '1' }, answer, usageEvent('req_large')),
    );
    const caller = await bus('caller');
    await ensureEventsStream(caller);
    await caller.jsm.streams.delete('EVENTS');
    const reply = await openReply(caller, { subject: 'echo.v1.large', head: null }); // the event was published before
    echo.callee.sweep(performance.now() + 2 * ACK_WAIT_MS_MAX, new Set());
    await ensureEventsStream(caller);
    expect(Buffer.concat(await Array.fromAsync(reply.body))).toHaveLength(answer.length);
    expect(await reply.end).toEqual({ cost: '1' });
  });

  // As nats-server behaves after a full disk, until its restart.
  test('lets one call at a time try while the stream answers but stores nothing', async () => {
    const service = await host();
    service.stream('echo.v1.kept', (call) =>
      call.end({ cost: '1' }, Buffer.from('answer'), usageEvent(`req_kept_${randomUUID()}`)),
    );
    const caller = await bus('caller');
    await ensureEventsStream(caller);
    await caller.jsm.streams.update('EVENTS', { max_msg_size: 1 });
    const refused = { code: 'service_unavailable' };
    await expect(ask(caller, 'echo.v1.kept', null)).rejects.toMatchObject(refused);
    await expect.poll(() => caller.admitBillable()).toBe(true);
    expect(caller.admitBillable()).toBe(false);
    await expect(ask(caller, 'echo.v1.kept', null)).rejects.toMatchObject(refused);
    await caller.jsm.streams.update('EVENTS', { max_msg_size: -1 });
    expect((await ask(caller, 'echo.v1.kept', null)).body.toString()).toBe('answer');
    expect([caller.admitBillable(), caller.admitBillable()]).toEqual([true, true]);
  });
});

describe('a JSON operation', () => {
  test('is typed and validated: a request of the wrong shape is refused with the field name', async () => {
    const service = await host('control');
    service.handle('keys.list', async ({ org }) => pageOf([], org === 'org_x', () => ''));
    const caller = await bus('caller');
    const list = await request(caller, 'keys.list', { org: 'org_x', key_id: 'key_x', query: {} });
    expect(list.has_more).toBe(true);
    const wrong = request(caller, 'keys.list', { org: 7 } as never);
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request', param: 'org' });
  });

  test('whose answer does not end fails when it exceeds what may be collected', async () => {
    const service = await host();
    service.stream('echo.v1.endless', async (call) => {
      while (!call.isCancelled) if (!call.write(Buffer.alloc(FRAME_BYTES_MAX))) await call.drained();
    });
    const answer = requestWhole(await bus('caller'), { subject: 'echo.v1.endless', head: null }, {});
    await expect(answer).rejects.toThrow('too large');
  });

  test('that is aborted is aborted on the other side', async () => {
    const service = await host('control');
    const started = Promise.withResolvers<AbortSignal>();
    service.handle('keys.list', async (_request, { signal }) => {
      started.resolve(signal);
      await once(signal, 'abort');
      throw signal.reason;
    });
    const gone = new AbortController();
    const outcome = request(
      await bus('caller'),
      'keys.list',
      { org: 'o', key_id: 'k', query: {} },
      { signal: gone.signal },
    ).catch((error: unknown) => error);
    const signal = await started.promise;
    const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort');
    gone.abort(new Error('the client went away'));
    await aborted;
    expect(await outcome).toMatchObject({ message: 'the client went away' });
  });

  test('completes on a service that drains', async () => {
    const service = await host('control');
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    service.handle('keys.list', async () => {
      started.resolve();
      await go.promise;
      return pageOf([], false, () => '');
    });
    const outcome = request(await bus('caller'), 'keys.list', { org: 'o', key_id: 'k', query: {} });
    await started.promise;
    const drained = service.drain();
    go.resolve();
    await drained;
    expect(await outcome).toMatchObject({ object: 'list' });
  });
});
