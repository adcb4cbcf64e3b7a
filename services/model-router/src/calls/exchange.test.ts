import { getEventListeners } from 'node:events';
import { type ModelType, upstream } from '@switchyard/contracts';
import { expect, test, vi } from 'vitest';
import type { Maker, UpstreamAnswer } from '../makers/maker.ts';
import { type ExchangeOptions, runExchange } from './exchange.ts';

const FIRST_BYTE_MS = 1_000;
const ATTEMPT_MS = 60_000;

interface Given {
  head(head: Omit<UpstreamAnswer, 'body'>): void;
  data(text: string): Promise<void>;
  end(): void;
  break(): void;
  /** Closes the socket of the call. */
  signal(): AbortSignal | undefined;
}

/** A maker whose answers the test supplies. */
function maker(asked = Promise.resolve()): { maker: Maker; given: Given } {
  const bytes = new TransformStream<Uint8Array, Uint8Array>();
  const writer = bytes.writable.getWriter();
  writer.closed.catch(() => {}); // the exchange may end before its answer does
  const answer = Promise.withResolvers<UpstreamAnswer>();
  let ofCall: AbortSignal | undefined;
  return {
    maker: {
      call: (_request, { onRequest, signal }) => {
        ofCall = signal;
        void asked.then(onRequest);
        return answer.promise;
      },
    },
    given: {
      head: (head) => answer.resolve({ ...head, body: bytes.readable }),
      data: (text) => writer.write(Buffer.from(text)),
      end: () => void writer.close(),
      break: () => void writer.abort(new Error('reset')),
      signal: () => ofCall,
    },
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
    signal: new AbortController().signal,
    remainingMs: ATTEMPT_MS,
    reserve: () => Promise.reject(new Error('nothing is downloaded')),
    streams: () => true,
    hasBegun: () => true,
    hasEnded: () => false,
    onStream: () => true,
    drained: () => Promise.resolve(),
    onRequest: () => {},
    onAccepted: () => {},
    onFirstByte: () => {},
    ...others,
  };
}

test('an upstream that falls silent after its caller was slow still times out', async () => {
  vi.useFakeTimers();
  try {
    const { maker: from, given } = maker();
    const room = Promise.withResolvers<void>();
    const failed = runExchange(options(from, { onStream: () => false, drained: () => room.promise })).catch(
      (error: unknown) => error,
    );
    given.head({ status: 200, contentType: 'text/event-stream', retryAfterS: null });
    void given.data('data: {}\n\n');
    await vi.advanceTimersByTimeAsync(10 * FIRST_BYTE_MS); // not the upstream’s fault: the caller reads nothing
    room.resolve();
    await vi.advanceTimersByTimeAsync(FIRST_BYTE_MS);
    expect(await failed).toMatchObject({ failure: { kind: 'timeout' } });
  } finally {
    vi.useRealTimers();
  }
});

test('the first-byte timeout starts with the request: files may be downloaded before it', async () => {
  vi.useFakeTimers();
  try {
    const asked = Promise.withResolvers<void>();
    const failed = vi.fn();
    runExchange(options(maker(asked.promise).maker, {})).catch(failed);
    await vi.advanceTimersByTimeAsync(10 * FIRST_BYTE_MS);
    asked.resolve();
    await vi.advanceTimersByTimeAsync(FIRST_BYTE_MS - 1);
    expect(failed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(failed).toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

test('an error body is not a first byte, and its text about our credentials is hidden', async () => {
  const { maker: from, given } = maker();
  const onFirstByte = vi.fn();
  const failed = runExchange(options(from, { onFirstByte })).catch((error: unknown) => error);
  given.head({ status: 401, contentType: 'application/json', retryAfterS: null });
  void given.data('{"error":{"message":"Incorrect API key provided: sk-ours"}}');
  given.end();
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
    const { maker: from, given } = maker();
    const streams = () => contentType === 'text/event-stream';
    const onFirstByte = vi.fn();
    const exchange = options(from, { streams, hasBegun: () => false, onFirstByte });
    const failed = runExchange(exchange).catch((error: unknown) => error);
    given.head({ status: 200, contentType, retryAfterS: null });
    for (let at = 0; at < FIRST_BYTE_MS; at += 100) {
      void given.data(keepAlive);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(await failed).toMatchObject({ failure: { kind: 'timeout' } });
    expect(onFirstByte).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ['stays open', () => {}],
  ['breaks', (given: Given) => given.break()],
])('a stream that is whole is an answer, even if its connection %s', async (_how, afterwards) => {
  vi.useFakeTimers();
  try {
    const { maker: from, given } = maker();
    let hasEnded = false;
    const onStream = () => {
      hasEnded = true;
      return true;
    };
    const received = runExchange(options(from, { onStream, hasEnded: () => hasEnded }));
    given.head({ status: 200, contentType: 'text/event-stream', retryAfterS: null });
    void given.data('data: [DONE]\n\n');
    await vi.advanceTimersByTimeAsync(1);
    afterwards(given);
    await vi.advanceTimersByTimeAsync(FIRST_BYTE_MS - 2);
    expect(await received).toMatchObject({ body: null });
    expect(given.signal()?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ['a stream', 'text/event-stream'],
  ['an answer in one piece', 'application/json'],
])(
  '%s that has ended costs no abort, and leaves nothing at the signal of its call',
  async (_what, contentType) => {
    const { maker: from, given } = maker();
    const { signal } = new AbortController();
    const streams = () => contentType === 'text/event-stream';
    const received = runExchange(options(from, { signal, streams }));
    given.head({ status: 200, contentType, retryAfterS: null });
    void given.data('data: {}\n\n');
    given.end();
    expect(await received).toMatchObject({ contentType });
    expect(given.signal()?.aborted).toBe(false);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  },
);

const FAULT = { kind: 'fault', said: /over 67108864 bytes$/ } as const;

test.each([
  [
    'for several inputs is refused',
    { type: 'embedding', body: { input: ['a', 'b'] } },
    { kind: 'rejected', said: /fewer inputs, .* base64/ },
  ],
  ['for one input is a fault of its upstream', { type: 'embedding', body: { input: ['a'] } }, FAULT],
  ['for a list of tokens is a fault of its upstream', { type: 'embedding', body: { input: [1, 2] } }, FAULT],
  [
    'for several images is refused',
    { type: 'image', body: { prompt: 'x', n: 2 } },
    { kind: 'rejected', said: /fewer images/ },
  ],
  ['for one image is a fault of its upstream', { type: 'image', body: { prompt: 'x' } }, FAULT],
  ['of a chat is a fault of its upstream', { type: 'language', body: {} }, FAULT],
  [
    'with an error is a fault of its upstream',
    { type: 'embedding', body: { input: ['a', 'b'] }, status: 500 },
    FAULT,
  ],
] as const)('an answer over 64 MiB %s', async (_what, { type, body, ...answer }, { kind, said }) => {
  const { maker: from, given } = maker();
  const { request, ...others } = options(from, { streams: () => false });
  const asked = { type: type as ModelType, body: Buffer.from(JSON.stringify(body)), stream: false };
  const failed = runExchange({ ...others, request: { ...request, ...asked } }).catch(
    (error: unknown) => error,
  );
  given.head({ status: 200, contentType: 'application/json', retryAfterS: null, ...answer });
  const chunk = 'x'.repeat(8 * 1024 * 1024);
  for (let at = 0; at < 9; at += 1) void given.data(chunk).catch(() => {});
  expect(await failed).toMatchObject({ failure: { kind, message: expect.stringMatching(said) } });
});

test('an exchange whose caller leaves ends at once, stops its timers, and takes nothing more', async () => {
  vi.useFakeTimers();
  try {
    const { maker: from, given } = maker();
    const leaving = new AbortController();
    const onStream = vi.fn(() => true);
    const ended = runExchange(options(from, { onStream, signal: leaving.signal })).catch(
      (error: unknown) => error,
    );
    given.head({ status: 200, contentType: 'text/event-stream', retryAfterS: null });
    const reason = new Error('the caller left');
    leaving.abort(reason);
    expect(await ended).toBe(reason);
    expect(given.signal()?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    void given.data('data: {}\n\n');
    await vi.advanceTimersByTimeAsync(FIRST_BYTE_MS);
    expect(onStream).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});
