// One exchange with one upstream and its timeouts: first byte, gap between bytes, and whole attempt.
import type { ModelType } from '@switchyard/contracts';
import type { HeldPlaces } from '@switchyard/service';
import { isBlank } from '../json/json-members.ts';
import { AttemptFailed, type Failure, failureOfAnswer, timedOut } from '../makers/failure.ts';
import type { Maker, UpstreamAnswer, UpstreamRequest } from '../makers/maker.ts';
import { imagesAskedFor, inputsAskedFor, readRequest } from '../spending/request-price.ts';

/** Maximum size of an answer in one piece. */
const WHOLE_ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Types whose requests may ask for several things: a larger answer is then the request's fault, at any upstream. */
const SEVERAL: { readonly [T in ModelType]?: { asked(body: Buffer): number; advice: string } } = {
  embedding: { asked: inputsAskedFor, advice: 'Send fewer inputs, or set encoding_format to base64.' },
  image: { asked: (body) => imagesAskedFor(readRequest(body)), advice: 'Ask for fewer images.' },
};
/** Time for the body to end after the last event of its stream. A connection whose body has ended serves other calls. */
const BODY_END_WAIT_MS = 250;

export interface ExchangeOptions {
  maker: Maker;
  request: UpstreamRequest;
  /** Ends the exchange at once, which then throws the signal's reason. */
  signal: AbortSignal;
  /** Milliseconds left for the whole call. */
  remainingMs: number;
  /** Reserves memory for what the maker's adapter downloads. */
  reserve(bytes: number, signal: AbortSignal): Promise<Pick<HeldPlaces, 'keep'>>;
  /** Whether an answer of this content type is passed on as it arrives, if the request asked for a stream. */
  streams(contentType: string): boolean;
  /** Takes the bytes of a streamed answer; returns false when the caller reads slowly: wait for `drained`. */
  onStream(bytes: Buffer, contentType: string): boolean;
  /** Whether a streamed answer has content; comments, roles and other framing do not count. */
  hasBegun(): boolean;
  /** Whether a streamed answer is whole, although its body may go on. */
  hasEnded(): boolean;
  drained(): Promise<void>;
  /** Called when the upstream is asked: the first-byte timeout starts here. */
  onRequest(): void;
  /** Called when the upstream has the whole request and bills it; with false when it refuses it afterwards. */
  onAccepted(accepted: boolean): void;
  /** Called when the answer begins; not called for the body of an error. */
  onFirstByte(): void;
}

/** A whole body; null when the answer was a stream, which `onStream` received. */
export interface Received {
  contentType: string;
  body: Buffer | null;
}

/**
 * Runs the exchange to its end.
 * @throws AttemptFailed for an error status, a timeout or an oversized answer; network errors; errors thrown by
 * `onStream`; the signal's reason.
 */
export async function runExchange(options: ExchangeOptions): Promise<Received> {
  options.signal.throwIfAborted();
  const closing = new AbortController();
  const ended = Promise.withResolvers<never>();
  const end = (reason: unknown) => {
    closing.abort(reason);
    ended.reject(reason);
  };
  const leave = () => end(options.signal.reason);
  options.signal.addEventListener('abort', leave);
  const { first_byte_timeout_ms: byteMs, attempt_timeout_ms: attemptMs } = options.request.upstream;
  const wholeMs = Math.min(attemptMs, options.remainingMs);
  const timeouts = new Timeouts({ byteMs, wholeMs }, end);
  try {
    // An upstream that ignores the signal must not delay the end.
    return await Promise.race([receive(options, timeouts, closing), ended.promise]);
  } catch (error) {
    closing.abort(error);
    throw error;
  } finally {
    timeouts.stop();
    options.signal.removeEventListener('abort', leave);
  }
}

/** Aborts `closing` only for a whole stream whose body goes on: an abort builds an error with a stack, and an event. */
async function receive(
  options: ExchangeOptions,
  timeouts: Timeouts,
  closing: AbortController,
): Promise<Received> {
  const { maker, request } = options;
  const { signal } = closing;
  const onRequest = () => {
    if (signal.aborted) return;
    timeouts.asked();
    options.onRequest();
  };
  const onAccepted = () => {
    if (!signal.aborted) options.onAccepted(true);
  };
  const reserve = (bytes: number) => options.reserve(bytes, signal);
  const answer = await maker.call(request, { signal, onRequest, onAccepted, reserve });
  signal.throwIfAborted();
  const { status, contentType, retryAfterS } = answer;
  const isGood = status < 300;
  options.onAccepted(isGood);
  if (isGood && request.stream && options.streams(contentType)) {
    if (!(await passOn(options, timeouts, signal, answer))) closing.abort();
    return { contentType, body: null };
  }
  const onFirstByte = isGood ? () => options.onFirstByte() : () => {};
  const tooLarge = () => new AttemptFailed(tooLargeAnswer(isGood ? request : null));
  const body = await collect(answer.body, { timeouts, signal, onFirstByte, tooLarge });
  if (!isGood) throw new AttemptFailed(failureOfAnswer(status, body, retryAfterS));
  return { contentType, body };
}

/** False when the stream is whole and its body goes on or breaks. */
async function passOn(
  options: ExchangeOptions,
  timeouts: Timeouts,
  signal: AbortSignal,
  { body, contentType }: UpstreamAnswer,
): Promise<boolean> {
  const chunks = body[Symbol.asyncIterator]();
  while (!options.hasEnded()) {
    const { done, value: bytes } = await chunks.next();
    if (done) return true;
    signal.throwIfAborted();
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const mayGoOn = options.onStream(chunk, contentType);
    if (!timeouts.begun && options.hasBegun()) {
      timeouts.begun = true;
      options.onFirstByte();
    }
    timeouts.heard();
    if (mayGoOn) continue;
    // A slow reader must not get a cut, free answer.
    timeouts.pause();
    await options.drained();
    signal.throwIfAborted();
    timeouts.resume();
  }
  return Promise.race([drain(chunks), timeouts.bodyEnd()]);
}

/** Reads to the end; false when there is none. Ignores everything after a whole stream, errors included. */
async function drain(chunks: AsyncIterator<Uint8Array>): Promise<boolean> {
  try {
    while (!(await chunks.next()).done);
    return true;
  } catch {
    return false;
  }
}

interface Collecting {
  timeouts: Timeouts;
  signal: AbortSignal;
  onFirstByte(): void;
  tooLarge(): AttemptFailed;
}

async function collect(
  body: AsyncIterable<Uint8Array>,
  { timeouts, signal, onFirstByte, tooLarge }: Collecting,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    bytes += chunk.length;
    if (bytes > WHOLE_ANSWER_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
    // Makers such as DeepSeek send blank lines as keep-alives before an answer in one piece.
    if (!timeouts.begun && !chunk.every(isBlank)) {
      timeouts.begun = true;
      onFirstByte();
    }
    timeouts.heard();
  }
  return Buffer.concat(chunks, bytes);
}

/** The timeouts of one exchange. They pause while the caller reads slowly. */
class Timeouts {
  /** The answer has content; from then on each byte restarts the first-byte timeout. Keep-alives do not count. */
  begun = false;
  readonly #byteMs: number;
  readonly #wholeMs: number;
  readonly #expire: (failure: AttemptFailed) => void;
  #byteTimer: NodeJS.Timeout | undefined;
  #wholeTimer: NodeJS.Timeout | undefined;
  #leftMs: number;
  #runningSince = 0;

  constructor(
    { byteMs, wholeMs }: { byteMs: number; wholeMs: number },
    expire: (failure: AttemptFailed) => void,
  ) {
    this.#byteMs = byteMs;
    this.#wholeMs = wholeMs;
    this.#leftMs = wholeMs;
    this.#expire = expire;
    this.#startWhole();
  }

  /** The first-byte timeout starts with the first request. */
  asked(): void {
    this.#byteTimer ??= this.#silenceTimer();
  }

  heard(): void {
    if (this.begun) this.#byteTimer?.refresh();
  }

  pause(): void {
    this.stop();
    this.#leftMs -= performance.now() - this.#runningSince;
  }

  resume(): void {
    this.#byteTimer = this.#silenceTimer();
    this.#startWhole();
  }

  #startWhole(): void {
    this.#runningSince = performance.now();
    const tooLong = `the upstream was not done within ${Math.round(this.#wholeMs)} ms`;
    this.#wholeTimer = setTimeout(() => this.#expire(timedOut(tooLong)), this.#leftMs);
  }

  /** Resolves with false when the time for the end of the body is over; the other timeouts end here. */
  bodyEnd(): Promise<false> {
    this.stop();
    return new Promise((resolve) => {
      this.#byteTimer = setTimeout(resolve, BODY_END_WAIT_MS, false);
    });
  }

  stop(): void {
    clearTimeout(this.#byteTimer);
    clearTimeout(this.#wholeTimer);
  }

  #silenceTimer(): NodeJS.Timeout {
    return setTimeout(() => this.#expire(timedOut(this.#silence())), this.#byteMs);
  }

  #silence(): string {
    if (this.begun) return `the upstream sent nothing for ${this.#byteMs} ms`;
    return `the upstream had not begun to answer within ${this.#byteMs} ms`;
  }
}

/** @param request null for an answer that reports an error */
function tooLargeAnswer(request: UpstreamRequest | null): Failure {
  const message = `the answer is over ${WHOLE_ANSWER_BYTES_MAX} bytes`;
  const several = request && SEVERAL[request.type];
  const failure = { status: 200, retryAfterS: null };
  if (!several || several.asked(request.body) <= 1) return { ...failure, message, kind: 'fault' };
  return { ...failure, message: `${message}. ${several.advice}`, kind: 'rejected' };
}
