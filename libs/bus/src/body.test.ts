// Streamed bodies: flow control by credit, complete or failed, and stopped together with their call.
import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ServiceError } from '@switchyard/contracts';
import { isFree, startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { decodeFrame, encodeFrame, FRAME, type Frame } from './frame.ts';
import { IncomingBody } from './incoming-body.ts';
import { type Bus, type ByteSource, connectBus, openReply, type ServiceHost, serve } from './index.ts';
import { FRAME_BYTES_MAX, PEER_SILENT_MS_MAX, SWEEP_MS, WINDOW_BYTES } from './limits.ts';

const CHUNK_BYTES = 64 * 1024;
const BIG_BYTES = 100 * 1024 * 1024;

let nats: TestServer;
const open: Bus[] = [];

async function bus(service: string): Promise<Bus> {
  const connected = await connectBus({ url: nats.url, service, logger: pino({ level: 'silent' }) });
  open.push(connected);
  return connected;
}

async function host(): Promise<ServiceHost> {
  return serve(await bus('files'), { name: 'files', version: '0.0.1', description: 'of a test' });
}

/** A service reads one body. `left` resolves with the error that ended it, or with `a whole body`. */
async function readBody(): Promise<{ arrived: Promise<void>; left: Promise<unknown> }> {
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<unknown>();
  (await host()).stream('files.v1.put', async (call) => {
    try {
      for await (const _chunk of call.body()) arrived.resolve();
      left.resolve('a whole body');
    } catch (error) {
      left.resolve(error);
    }
  });
  return { arrived: arrived.promise, left: left.promise };
}

/** A source that never ends by itself and reports when it is stopped. */
function endless(): { source: ByteSource; stopped: Promise<void>; made: () => number } {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  let made = 0;
  const source = (async function* () {
    try {
      for (;;) {
        made += CHUNK_BYTES;
        yield Buffer.alloc(CHUNK_BYTES);
      }
    } finally {
      resolve();
    }
  })();
  return { source, stopped, made: () => made };
}

beforeAll(async () => {
  nats = await startNats();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(() => nats.stop());

describe('a streamed request body', () => {
  test('arrives in order (100 MB) with at most one window in flight', async () => {
    const service = await host();
    const made = createHash('sha256');
    let madeBytes = 0;
    let readBytes = 0;
    let underWayMax = 0;
    service.stream('files.v1.put', async (call) => {
      const read = createHash('sha256');
      for await (const chunk of call.body()) {
        underWayMax = Math.max(underWayMax, madeBytes - readBytes);
        read.update(chunk);
        readBytes += chunk.length;
      }
      call.end({ sha256: read.digest('hex') });
    });
    const pattern = randomBytes(CHUNK_BYTES);
    async function* source() {
      for (; madeBytes < BIG_BYTES; madeBytes += pattern.length) {
        pattern.writeUInt32LE(madeBytes); // each chunk has different content and reuses the buffer
        made.update(pattern);
        yield pattern;
      }
    }
    const reply = await openReply(await bus('caller'), {
      subject: 'files.v1.put',
      head: null,
      body: source(),
    });
    expect(await reply.end).toEqual({ sha256: made.digest('hex') });
    expect(readBytes).toBe(BIG_BYTES);
    expect(underWayMax).toBeGreaterThan(0);
    expect(underWayMax).toBeLessThanOrEqual(WINDOW_BYTES + 2 * FRAME_BYTES_MAX);
  });

  test('waits while the service reads nothing', async () => {
    const service = await host();
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    service.stream('files.v1.put', async (call) => {
      const body = call.body();
      await body.next();
      arrived.resolve();
      await go.promise;
      call.end(null);
    });
    const caller = await bus('caller');
    const { source, stopped, made } = endless();
    const reply = openReply(caller, { subject: 'files.v1.put', head: null, body: source });
    await arrived.promise;
    for (let turn = 0; turn < 50; turn += 1) await caller.nc.flush();
    expect(made()).toBeLessThanOrEqual(WINDOW_BYTES + 2 * CHUNK_BYTES);
    go.resolve();
    await reply;
    await stopped; // ending early also ends the source
  });

  test('may be empty, in tiny pieces, or one piece much larger than a frame', async () => {
    const service = await host();
    service.stream('files.v1.echo', (call) => call.send(call.body()));
    const caller = await bus('caller');
    const big = randomBytes(5 * FRAME_BYTES_MAX + 17);
    for (const pieces of [[], [Buffer.alloc(0)], ['a', 'b', 'c'].map((one) => Buffer.from(one)), [big]]) {
      const body = Readable.from(pieces);
      const reply = await openReply(caller, { subject: 'files.v1.echo', head: null, body });
      expect(Buffer.concat(await Array.fromAsync(reply.body))).toEqual(Buffer.concat(pieces));
    }
    expect(caller.openCalls.outgoing).toBe(0);
  });

  test('arrives whole when the service reads it whole, and is refused above its limit', async () => {
    const service = await host();
    service.stream('files.v1.whole', async (call) => call.end((await call.readBody(CHUNK_BYTES)).length));
    const caller = await bus('caller');
    const send = async (body: ByteSource) =>
      (await openReply(caller, { subject: 'files.v1.whole', head: null, body })).end;
    expect(await send(Readable.from([Buffer.alloc(1_000), Buffer.alloc(24)]))).toBe(1_024);
    const { source, stopped } = endless();
    await expect(send(source)).rejects.toMatchObject({ code: 'body_too_large' });
    await stopped;
  });

  test('ends the call on both sides with the reason when its source fails', async () => {
    const service = await host();
    const heard: unknown[] = [];
    const over = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    service.stream('files.v1.put', async (call) => {
      try {
        for await (const _chunk of call.body());
        heard.push('a whole body');
      } catch (error) {
        heard.push(error);
      }
      over[heard.length - 1]?.resolve();
    });
    const caller = await bus('caller');
    async function* failing(error: Error) {
      yield Buffer.from('a beginning');
      throw error;
    }
    const coded = new ServiceError('invalid_request', 'the form is cut off', { param: 'file' });
    const fault = new Error('the password is hunter2');
    for (const [nth, error] of [coded, fault].entries()) {
      const body = failing(error);
      const outcome = openReply(caller, { subject: 'files.v1.put', head: null, body });
      await expect(outcome).rejects.toMatchObject(
        error === coded
          ? { code: 'invalid_request', param: 'file' }
          : { code: 'internal_error', cause: fault },
      );
      await over[nth]?.promise;
    }
    expect(heard).toMatchObject([{ code: 'invalid_request', param: 'file' }, { code: 'internal_error' }]);
    expect(String(heard[1])).not.toContain('hunter2');
    expect(caller.openCalls.outgoing).toBe(0);
  });

  test('ends the call at once when its source fails before a service takes the call', async () => {
    const body: ByteSource = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new ServiceError('invalid_request', 'gone')),
      }),
    };
    const outcome = openReply(await bus('caller'), { subject: 'absent.v1.call', head: null, body });
    await expect(outcome).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('is stopped when the service refuses it midway', async () => {
    const service = await host();
    service.stream('files.v1.put', async (call) => {
      for await (const _chunk of call.body()) throw new ServiceError('body_too_large', 'enough');
    });
    const caller = await bus('caller');
    const { source, stopped } = endless();
    const outcome = openReply(caller, { subject: 'files.v1.put', head: null, body: source });
    await expect(outcome).rejects.toMatchObject({ code: 'body_too_large' });
    await stopped;
    const silent = new Readable({ read() {} }); // sends nothing, and is not waited for
    silent.push(Buffer.from('a'));
    const again = openReply(caller, { subject: 'files.v1.put', head: null, body: silent });
    await expect(again).rejects.toMatchObject({ code: 'body_too_large' });
    expect(silent.destroyed).toBe(true);
  });

  test('stops its source, and its reader on the other side, when the call is cancelled', async () => {
    const { arrived, left } = await readBody();
    const gone = new AbortController();
    const { source, stopped } = endless();
    const request = { subject: 'files.v1.put', head: null, body: source };
    const outcome = openReply(await bus('caller'), request, gone.signal);
    await arrived;
    gone.abort(new Error('the client went away'));
    await expect(outcome).rejects.toThrow('the client went away');
    await stopped;
    expect(await left).toMatchObject({ code: 'service_unavailable' });
  });

  test('is stopped about 5 s after the process that reads it dies', async () => {
    const child = fork(join(import.meta.dirname, '__fixtures__/silent-service.ts'), [nats.url]);
    await once(child, 'message');
    const taken = once(child, 'message');
    const { source, stopped } = endless();
    const caller = await bus('caller');
    const outcome = openReply(caller, { subject: 'silent.v1.body', head: null, body: source }).catch(
      (error: unknown) => error,
    );
    await taken;
    child.kill('SIGKILL');
    expect(await outcome).toMatchObject({ code: 'service_unavailable' });
    await stopped;
    expect(PEER_SILENT_MS_MAX + SWEEP_MS).toBeLessThan(5_000); // the delay by design; the machine adds its own
  });

  test('is seen as incomplete, never as whole, when its caller dies', async () => {
    const { arrived, left } = await readBody();
    const caller = await bus('caller');
    const body = new Readable({ read() {} });
    body.push(Buffer.from('a beginning'));
    openReply(caller, { subject: 'files.v1.put', head: null, body }).catch(() => {});
    await arrived;
    await caller.nc.close(); // no cancel and no further heartbeat, like a killed process
    expect(await left).toMatchObject({ code: 'service_unavailable' });
  });

  test.each([
    ['travels with its head', 100_000],
    ['is sent after it', 1_000_000],
  ])('in memory that %s is free once its service has it, while the call runs on', async (_how, bytes) => {
    (await host()).stream('files.v1.put', async (call) => {
      await call.readBody();
      call.write(Buffer.from('a beginning'));
    });
    const caller = await bus('caller');
    const begin = async () => {
      const body = Buffer.alloc(bytes);
      const reply = await openReply(caller, { subject: 'files.v1.put', head: null, body });
      return { reply, memory: new WeakRef(body.buffer) };
    };
    const { reply, memory } = await begin();
    await expect.poll(() => isFree(memory)).toBe(true);
    reply.cancel();
  });

  test('is refused when a frame was lost', async () => {
    const body = new IncomingBody(() => {});
    const frame = (seq: number) => decodeFrame(encodeFrame(FRAME.data, seq, '', Buffer.from('a'))) as Frame;
    body.received(frame(0));
    await body.chunks.next();
    body.received(frame(2));
    await expect(body.chunks.next()).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await body.chunks.next()).toEqual({ done: true, value: undefined });
  });
});

describe('a reply that is read in a loop', () => {
  test('delivers head, bytes and end, and pauses its service while the reader is idle', async () => {
    const service = await host();
    const content = randomBytes(4 * 1024 * 1024);
    let written = 0;
    const stalled = Promise.withResolvers<void>();
    service.stream('files.v1.get', async (call) => {
      call.setHead({ bytes: content.length });
      for (; written < content.length; written += CHUNK_BYTES) {
        if (call.write(content.subarray(written, written + CHUNK_BYTES))) continue;
        stalled.resolve();
        await call.drained();
      }
      call.end({ whole: true });
    });
    const reply = await openReply(await bus('caller'), { subject: 'files.v1.get', head: null });
    expect(reply.head).toEqual({ bytes: content.length });
    await stalled.promise;
    expect(written).toBeLessThanOrEqual(WINDOW_BYTES + 2 * CHUNK_BYTES);
    expect(Buffer.concat(await Array.fromAsync(reply.body)).equals(content)).toBe(true);
    expect(await reply.end).toEqual({ whole: true });
  });

  test('is cancelled by leaving the loop', async () => {
    const service = await host();
    const gone = Promise.withResolvers<void>();
    service.stream('files.v1.get', (call) => {
      call.onCancelled(gone.resolve);
      call.write(Buffer.from('a beginning'));
    });
    const caller = await bus('caller');
    const reply = await openReply(caller, { subject: 'files.v1.get', head: null });
    for await (const _chunk of reply.body) break;
    await gone.promise;
    expect(caller.openCalls.outgoing).toBe(0);
  });

  test('throws in the loop when it breaks off, and is destroyed as a stream: never a short whole', async () => {
    const service = await host();
    service.stream('files.v1.get', async (call) => {
      call.write(Buffer.from('a beginning'));
      throw new ServiceError('service_unavailable', 'the store is down');
    });
    const caller = await bus('caller');
    const reply = await openReply(caller, { subject: 'files.v1.get', head: null });
    await expect(Array.fromAsync(reply.body)).rejects.toMatchObject({ code: 'service_unavailable' });
    const second = await openReply(caller, { subject: 'files.v1.get', head: null });
    const stream = Readable.from(second.body, { objectMode: false });
    const [error] = (await once(stream.resume(), 'error')) as [ServiceError];
    expect(error.code).toBe('service_unavailable');
  });

  test('that fails is read up to the failure, except when its reader gave up', async () => {
    const service = await host();
    const pieces = ['a', 'b', 'c'];
    service.stream('files.v1.get', async (call) => {
      for (const piece of pieces) call.write(Buffer.from(piece));
      await call.drained();
      throw new ServiceError('command_timed_out', 'too slow');
    });
    const caller = await bus('caller');
    const reply = await openReply(caller, { subject: 'files.v1.get', head: null });
    await expect(reply.end).rejects.toMatchObject({ code: 'command_timed_out' }); // all has arrived, nothing was read
    const read: string[] = [];
    const reading = async () => {
      for await (const chunk of reply.body) read.push(String(chunk));
    };
    await expect(reading()).rejects.toMatchObject({ code: 'command_timed_out' });
    expect(read.join('')).toBe('abc');

    const left = await openReply(caller, { subject: 'files.v1.get', head: null }, AbortSignal.abort()).catch(
      ({ name }: Error) => name,
    );
    expect(left).toBe('AbortError');
    const gone = new AbortController();
    service.stream('files.v1.endless', (call) => void call.write(Buffer.from('a')));
    const given = await openReply(caller, { subject: 'files.v1.endless', head: null }, gone.signal);
    gone.abort(new Error('the client went away'));
    await expect(given.body.next()).rejects.toThrow('the client went away');
  });

  test('passes bytes from one call to the next: a body may be another call’s', async () => {
    const service = await host();
    const middle = await bus('middle');
    const content = randomBytes(3 * 1024 * 1024);
    service.stream('files.v1.store', async (call) => call.end(null, await call.readBody()));
    service.stream('files.v1.pass', async (call) => {
      const body = call.body();
      const reply = await openReply(middle, { subject: 'files.v1.store', head: null, body });
      await call.send(reply.body);
    });
    const reply = await openReply(await bus('caller'), {
      subject: 'files.v1.pass',
      head: null,
      body: Readable.from([content]),
    });
    expect(Buffer.concat(await Array.fromAsync(reply.body)).equals(content)).toBe(true);
  });
});
