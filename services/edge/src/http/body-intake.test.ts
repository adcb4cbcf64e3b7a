// Time limits of a body, on a real socket: the pace once it has a place in memory, and the time for the whole.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { ByteBudget } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ARRIVING_BYTES_MAX, ArrivingBodies } from './arriving-bodies.ts';
import { BodyIntake } from './body-intake.ts';
import { BODY_MS_MAX, BODY_PACE_BYTES_MIN, BODY_PACE_MS } from './limits.ts';

const MIB = 1024 * 1024;
const BODY_BYTES = 32 * MIB;

let server: Server;
let client: Socket;
let clock: FakeClock;
let budget: ByteBudget;
let arriving: ArrivingBodies;
let intake: BodyIntake;
let came: number;
let outcome: Promise<unknown>;

beforeEach(async () => {
  clock = new FakeClock();
  budget = new ByteBudget({ bytesMax: 4 * BODY_BYTES, clock });
  arriving = new ArrivingBodies();
  came = 0;
  const arrived = Promise.withResolvers<unknown>();
  outcome = arrived.promise;
  outcome.catch(() => {}); // tests await it later
  server = createServer((request, response) => {
    intake = new BodyIntake(request, {
      ...{
        budget,
        arriving,
        clock,
        org: 'org_a',
        bytesMax: BODY_BYTES,
        limit: '',
        memoryFor: (bytes) => bytes,
      },
    });
    intake
      .read((piece) => {
        came += piece.length;
      })
      .then(() => arrived.resolve('whole'), arrived.reject)
      .finally(() => response.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
});
afterEach(() => {
  client.destroy();
  server.close();
});

function begin(length: string): void {
  client.write(`POST / HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n`);
}

/** Resolves when the server has read the bytes. */
async function send(bytes: number, frame = (body: Buffer) => body): Promise<void> {
  const wanted = came + bytes;
  client.write(frame(Buffer.alloc(bytes)));
  await expect.poll(() => came).toBe(wanted);
}

const chunk = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);

describe('a large body', () => {
  test.each([
    ['with a length', `Content-Length: ${BODY_BYTES}`, undefined],
    ['in chunks', 'Transfer-Encoding: chunked', chunk],
  ])('%s that arrives too slowly is refused and frees its place', async (_, length, frame) => {
    begin(length);
    await send(4 * MIB, frame);
    clock.advance(BODY_PACE_MS);
    expect(budget.held).toBe(BODY_BYTES);
    await send(BODY_PACE_BYTES_MIN - 1, frame);
    clock.advance(BODY_PACE_MS);
    await expect(outcome).rejects.toMatchObject({
      code: 'body_timeout',
      message: expect.stringMatching(/bytes/),
    });
    expect(budget.held).toBe(0);
    expect(clock.waiting).toBe(0);
  });

  test('that just keeps the pace is refused when the time of a whole body is over', async () => {
    begin(`Content-Length: ${BODY_BYTES}`);
    const windows = BODY_MS_MAX / BODY_PACE_MS;
    for (let window = 1; window < windows; window += 1) {
      await send(BODY_PACE_BYTES_MIN);
      clock.advance(BODY_PACE_MS);
    }
    await send(BODY_PACE_BYTES_MIN);
    expect(budget.held).toBe(BODY_BYTES);
    clock.advance(BODY_PACE_MS);
    await expect(outcome).rejects.toMatchObject({
      code: 'body_timeout',
      message: expect.stringMatching(/whole/),
    });
    expect(budget.held).toBe(0);
  });

  test('of the largest size over a slow line is read completely', async () => {
    begin(`Content-Length: ${BODY_BYTES}`);
    const windows = BODY_MS_MAX / BODY_PACE_MS;
    for (let window = 1; window < windows; window += 1) {
      await send(Math.floor(BODY_BYTES / windows));
      clock.advance(BODY_PACE_MS);
    }
    await send(BODY_BYTES - came);
    expect(await outcome).toBe('whole');
    expect(clock.waiting).toBe(0);
  });

  test('in chunks gets its full time from when it has its place, however long it waited', async () => {
    const { signal } = new AbortController();
    const [one, other] = await Promise.all(
      ['org_b', 'org_c'].map((org) => budget.take(2 * BODY_BYTES, { org, signal })),
    );
    begin('Transfer-Encoding: chunked');
    client.write(chunk(Buffer.alloc(2 * MIB)));
    await expect.poll(() => budget.waiting).toBe(1);
    clock.advance(BODY_MS_MAX / 2);
    one?.release();
    await expect.poll(() => came).toBe(2 * MIB);
    clock.advance(BODY_PACE_MS - 1);
    client.write('0\r\n\r\n');
    expect(await outcome).toBe('whole');
    other?.release();
  });

  test('in chunks that is late before it has its place leaves the queue, and keeps no place', async () => {
    const { signal } = new AbortController();
    const blockers = await Promise.all(
      ['org_b', 'org_c'].map((org) => budget.take(2 * BODY_BYTES, { org, signal })),
    );
    begin('Transfer-Encoding: chunked');
    await send(10, chunk);
    for (let passed = 0; passed < BODY_MS_MAX - BODY_PACE_MS; passed += BODY_PACE_MS)
      clock.advance(BODY_PACE_MS);
    client.write(chunk(Buffer.alloc(2 * MIB)));
    await expect.poll(() => budget.waiting).toBe(1);
    clock.advance(BODY_PACE_MS);
    await expect(outcome).rejects.toMatchObject({ code: 'body_timeout' });
    expect(budget.waiting).toBe(0);
    for (const blocker of blockers) blocker.release();
    expect(budget.held).toBe(0);
  });

  test('that is given up in the instant of its grant keeps no place', async () => {
    const { signal } = new AbortController();
    const blockers = await Promise.all(
      ['org_b', 'org_c'].map((org) => budget.take(2 * BODY_BYTES, { org, signal })),
    );
    begin(`Content-Length: ${BODY_BYTES}`);
    await expect.poll(() => budget.waiting).toBe(1);
    for (const blocker of blockers) blocker.release();
    intake.release();
    await expect(outcome).rejects.toMatchObject({ code: 'invalid_request' });
    expect(budget.held).toBe(0);
  });
});

describe('a small body', () => {
  test('needs no pace, and gets the time of a whole body', async () => {
    begin(`Content-Length: ${MIB}`);
    await send(10);
    clock.advance(BODY_MS_MAX - 1);
    await send(10);
    clock.advance(1);
    await expect(outcome).rejects.toMatchObject({ code: 'body_timeout' });
    expect(arriving.bytesOf('org_a')).toBe(0);
  });

  test.each([
    ['with a length', `Content-Length: ${MIB}`, MIB, undefined],
    ['in chunks', 'Transfer-Encoding: chunked', BODY_BYTES, chunk],
  ])(
    '%s takes a place, and must keep the pace, while many others of its org arrive',
    async (_, length, place, frame) => {
      arriving.add('org_a', ARRIVING_BYTES_MAX - 10);
      begin(length);
      await send(10, frame);
      expect([budget.held, arriving.bytesOf('org_a')]).toEqual([0, ARRIVING_BYTES_MAX]);
      await send(10, frame);
      expect([budget.held, arriving.bytesOf('org_a')]).toEqual([place, ARRIVING_BYTES_MAX - 10]);
      clock.advance(BODY_PACE_MS);
      await expect(outcome).rejects.toMatchObject({ code: 'body_timeout' });
      expect([budget.held, arriving.bytesOf('org_a')]).toEqual([0, ARRIVING_BYTES_MAX - 10]);
    },
  );

  test('leaves its place when it is complete', async () => {
    arriving.add('org_a', ARRIVING_BYTES_MAX);
    begin('Content-Length: 20');
    await send(10);
    expect(budget.held).toBe(20);
    await send(10);
    expect(await outcome).toBe('whole');
    expect(budget.held).toBe(0);
  });

  test('of another org needs no place meanwhile', async () => {
    arriving.add('org_other', ARRIVING_BYTES_MAX);
    begin('Content-Length: 10');
    await send(10);
    expect(await outcome).toBe('whole');
    expect([budget.held, arriving.bytesOf('org_a')]).toEqual([0, 0]);
  });

  test('counts no longer when its client leaves', async () => {
    begin('Content-Length: 20');
    await send(10);
    client.destroy();
    await expect(outcome).rejects.toMatchObject({ code: 'invalid_request' });
    expect(arriving.bytesOf('org_a')).toBe(0);
  });
});
