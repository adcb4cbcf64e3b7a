// One exchange with one upstream under its clocks: until the first byte, between bytes, and for the whole attempt.
import type { Exchange, Maker, UpstreamHead, UpstreamRequest } from '../makers/maker.ts';
import { AttemptFailed, failureOfAnswer, timedOut } from './failure.ts';

/** Bytes of an answer in one piece. */
const WHOLE_ANSWER_BYTES_MAX = 64 * 1024 * 1024;

export interface ExchangeOptions {
  maker: Maker;
  request: UpstreamRequest;
  /** Milliseconds that the call as a whole has left. */
  remainingMs: number;
  /** Whether an answer of this content type goes on as it comes, where the request asked for a stream. */
  streams(contentType: string): boolean;
  /** Takes the bytes of such an answer; false: the caller reads slowly, wait for `drained`. */
  onStream(bytes: Buffer, contentType: string): boolean;
  /** Whether such an answer has begun: comments, roles and other frames of it are no first token. */
  hasBegun(): boolean;
  drained(): Promise<void>;
  /** Told how to end the exchange from outside; it then throws `ExchangeAbandoned`. */
  onStarted(abandon: () => void): void;
  /** The answer has begun; not told of an error's body. */
  onFirstByte(): void;
}

/** Thrown by an exchange that was ended from outside. */
export class ExchangeAbandoned extends Error {}

/** A whole body; or null when it was a stream, which `onStream` has had. */
export interface Received {
  contentType: string;
  body: Buffer | null;
}

/**
 * Runs the exchange to its end.
 * @throws AttemptFailed for an error status, a timeout, an answer too large; the network's error; whatever `onStream` throws.
 */
export function runExchange(options: ExchangeOptions): Promise<Received> {
  const { maker, request, remainingMs } = options;
  const { first_byte_timeout_ms: byteMs, attempt_timeout_ms: attemptMs } = request.upstream;
  return new Promise((resolve, reject) => {
    let head: UpstreamHead | null = null;
    let streaming = false;
    let exchange: Exchange | null = null;
    let chunks: Buffer[] = [];
    let bytes = 0;
    /** The first clock runs until then; keep-alives do not stop it. */
    let begun = false;
    let over = false;
    const settle = (outcome: () => void) => {
      over = true;
      clearTimeout(byteClock);
      clearTimeout(wholeClock);
      outcome();
    };
    const fail = (error: unknown) =>
      settle(() => {
        exchange?.abort();
        reject(error);
      });
    const silent = () =>
      fail(
        timedOut(
          `the upstream ${begun ? 'sent nothing for' : 'had not begun to answer within'} ${byteMs} ms`,
        ),
      );
    let byteClock = setTimeout(silent, byteMs);
    const wholeMs = Math.min(attemptMs, remainingMs);
    const tooLong = () => fail(timedOut(`the upstream was not done within ${Math.round(wholeMs)} ms`));
    let leftMs = wholeMs;
    let runningSince = performance.now();
    let wholeClock = setTimeout(tooLong, leftMs);
    let slow = false;
    /** It is the caller who is slow: the upstream's clocks stand still, or a slow reader would be cut, and for free. */
    const slowDown = () => {
      exchange?.pause();
      if (slow) return;
      slow = true;
      clearTimeout(byteClock);
      clearTimeout(wholeClock);
      leftMs -= performance.now() - runningSince;
      void options.drained().then(() => {
        slow = false;
        if (over) return;
        byteClock = setTimeout(silent, byteMs); // one that was cleared cannot be refreshed
        runningSince = performance.now();
        wholeClock = setTimeout(tooLong, leftMs);
        exchange?.resume();
      });
    };
    exchange = maker.start(request, {
      onHead(received) {
        head = received;
        streaming = received.status < 300 && request.stream && options.streams(received.contentType);
      },
      onData(chunk) {
        if (over) return;
        bytes += chunk.length;
        try {
          if (streaming) {
            if (!options.onStream(chunk, head?.contentType ?? '')) slowDown();
          } else if (bytes > WHOLE_ANSWER_BYTES_MAX) throw tooLarge();
          else chunks.push(chunk);
        } catch (error) {
          return fail(error);
        }
        if (!begun) {
          begun = streaming ? options.hasBegun() : !isBlank(chunk);
          if (begun && head !== null && head.status < 300) options.onFirstByte();
        }
        if (begun && !slow) byteClock.refresh();
      },
      onEnd: () =>
        settle(() => {
          const body =
            chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, streaming ? 0 : bytes);
          chunks = [];
          if (head === null || head.status >= 300)
            reject(new AttemptFailed(failureOfAnswer(head?.status ?? 502, body, head?.retryAfterS ?? null)));
          else resolve({ contentType: head.contentType, body: streaming ? null : body });
        }),
      onError: fail,
    });
    options.onStarted(() => {
      if (!over) fail(new ExchangeAbandoned('the exchange was ended from outside'));
    });
  });
}

/** Makers keep a connection alive with blank lines before an answer in one piece (DeepSeek does). */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

function tooLarge(): AttemptFailed {
  const message = `the answer is over ${WHOLE_ANSWER_BYTES_MAX} bytes`;
  return new AttemptFailed({ status: 200, message, kind: 'fault', retryAfterS: null });
}
