import { upstream } from '@switchyard/contracts';
import { expect, test, vi } from 'vitest';
import type { Maker, UpstreamSink } from '../makers/maker.ts';
import { ExchangeAbandoned, type ExchangeOptions, runExchange } from './exchange.ts';

const FIRST_BYTE_MS = 1_000;
const ATTEMPT_MS = 60_000;

/** A maker whose answers the test gives itself. */
function maker(): { maker: Maker; sink: () => UpstreamSink } {
  let given: UpstreamSink | null = null;
  return {
    maker: {
      types: ['language'],
      start: (_request, sink) => {
        given = sink;
        return { pause: () => {}, resume: () => {}, abort: () => {} };
      },
    },
    sink: () => given as UpstreamSink,
  };
}

function options(from: Maker, others: Partial<ExchangeOptions>): ExchangeOptions {
  return {
    maker: from,
    request: {
      type: 'language',
      upstream: upstream.parse({
        adapter: 'test',
        model: 'm',
        first_byte_timeout_ms: FIRST_BYTE_MS,
        attempt_timeout_ms: ATTEMPT_MS,
      }),
      body: Buffer.from('{}'),
      stream: true,
      requestId: 'req_test',
    },
    remainingMs: ATTEMPT_MS,
    streams: () => true,
    hasBegun: () => true,
    onStream: () => true,
    drained: () => Promise.resolve(),
    onStarted: () => {},
    onFirstByte: () => {},
    ...others,
  };
}

test('an upstream that falls silent after its caller was slow is still given up in time', async () => {
  vi.useFakeTimers();
  try {
    const { maker: from, sink } = maker();
    const room = Promise.withResolvers<void>();
    const failed = runExchange(options(from, { onStream: () => false, drained: () => room.promise })).catch(
      (error: unknown) => error,
    );
    sink().onHead({ status: 200, contentType: 'text/event-stream', retryAfterS: null });
    sink().onData(Buffer.from('data: {}\n\n'));
    await vi.advanceTimersByTimeAsync(10 * FIRST_BYTE_MS); // the caller takes nothing: not the upstream's fault
    room.resolve();
    await vi.advanceTimersByTimeAsync(FIRST_BYTE_MS);
    expect(await failed).toMatchObject({ failure: { kind: 'timeout' } });
  } finally {
    vi.useRealTimers();
  }
});

test('the body of an error is no first byte of an answer, and what it says of our credentials is not passed on', async () => {
  const { maker: from, sink } = maker();
  const onFirstByte = vi.fn();
  const failed = runExchange(options(from, { onFirstByte })).catch((error: unknown) => error);
  sink().onHead({ status: 401, contentType: 'application/json', retryAfterS: null });
  sink().onData(Buffer.from('{"error":{"message":"Incorrect API key provided: sk-ours"}}'));
  sink().onEnd();
  expect(await failed).toMatchObject({
    failure: { status: 401, kind: 'fault', message: 'the upstream refused our credentials (401)' },
  });
  expect(onFirstByte).not.toHaveBeenCalled();
});

test.each([
  ['of a stream', 'text/event-stream', ': keep-alive\n\n'],
  ['of an answer in one piece', 'application/json', '\n'],
])('keep-alives %s do not stop the clock until the first token', async (_what, contentType, keepAlive) => {
  vi.useFakeTimers();
  try {
    const { maker: from, sink } = maker();
    const streams = () => contentType === 'text/event-stream';
    const onFirstByte = vi.fn();
    const given = options(from, { streams, hasBegun: () => false, onFirstByte });
    const failed = runExchange(given).catch((error: unknown) => error);
    sink().onHead({ status: 200, contentType, retryAfterS: null });
    for (let at = 0; at < FIRST_BYTE_MS; at += 100) {
      sink().onData(Buffer.from(keepAlive));
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(await failed).toMatchObject({ failure: { kind: 'timeout' } });
    expect(onFirstByte).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

test('an exchange that is ended from outside is over at once, its clocks too', async () => {
  vi.useFakeTimers();
  try {
    const { maker: from, sink } = maker();
    let abandon = () => {};
    const ended = runExchange(options(from, { onStarted: (how) => (abandon = how) })).catch(
      (error: unknown) => error,
    );
    sink().onHead({ status: 200, contentType: 'text/event-stream', retryAfterS: null });
    abandon();
    expect(await ended).toBeInstanceOf(ExchangeAbandoned);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
