// Reads a body off its socket. A large one needs a place in the byte budget, and a small one too while many others of
// its org arrive. The socket is not read until the body has its place, and a slow body loses its place. The rest of a
// refused body is read and discarded, so that its client reads the error.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@switchyard/contracts';
import { type ByteBudget, type Clock, type HeldBytes, LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import type { ArrivingBodies } from './arriving-bodies.ts';
import { BODY_MS_MAX, BODY_PACE_BYTES_MIN, BODY_PACE_MS } from './limits.ts';
import { declaredBytes, incompleteBody } from './streamed-body.ts';

/** Shared by all bodies of this process. */
export interface IntakeDeps {
  /** Memory for large bodies. */
  readonly budget: ByteBudget;
  /** The bodies that have no place in it. */
  readonly arriving: ArrivingBodies;
  readonly clock: Clock;
}

export interface BodyIntakeOptions extends IntakeDeps {
  /** The org whose share of the budget the body uses; null on routes without a key. */
  org: string | null;
  /** Maximum bytes of the body, as sent over the wire. */
  bytesMax: number;
  /** Error message for a larger body. */
  limit: string;
  /** Bytes of memory that a body of this length needs. */
  memoryFor(bodyBytes: number): number;
}

export class BodyIntake implements HeldBytes {
  readonly #raw: IncomingMessage;
  readonly #options: BodyIntakeOptions;
  /** Bytes declared by Content-Length; null for a chunked body. */
  readonly declaredBytes: number | null;
  #held: HeldBytes | null = null;
  /** Its bytes that count as arriving. */
  #arrivingBytes = 0;
  /** Aborted once no place is wanted any more. */
  readonly #over = new AbortController();

  constructor(raw: IncomingMessage, options: BodyIntakeOptions) {
    this.#raw = raw;
    this.#options = options;
    this.declaredBytes = declaredBytes(raw);
  }

  /**
   * Passes the body on piece by piece; when `take` returns a promise, the socket is paused until it resolves. The
   * memory of a large body stays reserved until `release`, unless reading fails.
   * @throws ServiceError `body_too_large`, `service_unavailable` without room, `body_timeout`, `invalid_request` for an
   *   incomplete body; errors of `take`.
   */
  async read(take: (piece: Buffer) => void | Promise<void>): Promise<void> {
    const { bytesMax } = this.#options;
    try {
      if (this.declaredBytes !== null && this.declaredBytes > bytesMax) throw this.#tooLarge();
      if (this.declaredBytes !== null && this.declaredBytes > LARGE_BODY_BYTES_MIN)
        await this.#hold(this.declaredBytes);
      const bytes = await this.#pump(take);
      if (bytes <= LARGE_BODY_BYTES_MIN) this.#held?.release(); // it needed its place only while it arrived
    } catch (error) {
      this.release();
      this.#raw.resume(); // without a listener: discards the rest
      throw error;
    }
  }

  /** The bytes are no longer held, nor waited for. Idempotent. */
  release(): void {
    this.#over.abort(incompleteBody());
    this.#held?.release();
  }

  /** A client that disconnects leaves the queue when its socket closes, or else at its turn. */
  async #hold(bodyBytes: number): Promise<void> {
    const { budget, org, memoryFor } = this.#options;
    const { signal } = this.#over;
    const leave = () => this.#over.abort(incompleteBody());
    if (this.#raw.destroyed) leave();
    this.#raw.once('close', leave);
    try {
      this.#held = await budget.take(memoryFor(bodyBytes), { org, signal });
    } finally {
      this.#raw.off('close', leave);
    }
    if (!signal.aborted) return;
    this.#held.release(); // granted in the instant of the abort
    throw signal.reason;
  }

  /** Resolves with the bytes of the body. */
  #pump(take: (piece: Buffer) => void | Promise<void>): Promise<number> {
    const raw = this.#raw;
    const { bytesMax } = this.#options;
    return new Promise((resolve, reject) => {
      let bytes = 0;
      const settle = (outcome: () => void) => {
        stopWatch();
        this.#arrive();
        raw.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
        outcome();
      };
      const fail = (error: unknown) => settle(() => reject(error));
      const watch = () => this.#watch(() => bytes, fail);
      const onData = (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > bytesMax) return fail(this.#tooLarge());
        try {
          const taken = this.#needsPlace(bytes, piece)
            ? this.#hold(this.declaredBytes ?? bytesMax).then(placed(piece))
            : take(piece);
          if (!taken) return;
          raw.pause();
          taken.then(() => raw.resume(), fail);
        } catch (error) {
          fail(error);
        }
      };
      /**
       * A body that needs a place after it began gets one of its declared size, or else of the maximum size. If places
       * grew with their bodies, all bodies could wait for room and none would complete.
       */
      const placed = (piece: Buffer) => () => {
        this.#arrive();
        stopWatch();
        stopWatch = watch(); // the wait for the place does not count
        return take(piece);
      };
      const onEnd = () => settle(() => resolve(bytes));
      const onCut = (cause?: Error) => fail(incompleteBody(cause));
      let stopWatch = watch();
      if (raw.destroyed && !raw.readableEnded) return onCut();
      raw.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
      raw.resume();
    });
  }

  #needsPlace(bytes: number, piece: Buffer): boolean {
    if (this.#held !== null) return false;
    const { arriving, org } = this.#options;
    if (bytes > LARGE_BODY_BYTES_MIN || !arriving.add(org, piece.length)) return true;
    this.#arrivingBytes += piece.length;
    return false;
  }

  /** Its bytes arrived, or have a place. */
  #arrive(): void {
    this.#options.arriving.remove(this.#options.org, this.#arrivingBytes);
    this.#arrivingBytes = 0;
  }

  /** Fails a body that is late, or that has a place and is too slow; returns a function that stops the check. */
  #watch(received: () => number, fail: (error: ServiceError) => void): () => void {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    let before = received();
    const look = () => {
      if (clock.monotonic() - startedAt >= BODY_MS_MAX) return fail(tooLate());
      const isSlow = this.#held !== null && received() - before < BODY_PACE_BYTES_MIN;
      if (isSlow && !this.#raw.isPaused()) return fail(tooSlow());
      before = received();
      stop = clock.after(BODY_PACE_MS, look);
    };
    let stop = clock.after(BODY_PACE_MS, look);
    return () => stop();
  }

  #tooLarge(): ServiceError {
    return new ServiceError('body_too_large', this.#options.limit);
  }
}

function tooSlow(): ServiceError {
  const message = `The body arrived too slowly. Send at least ${BODY_PACE_BYTES_MIN} bytes in ${BODY_PACE_MS / 1_000} s.`;
  return new ServiceError('body_timeout', message);
}

function tooLate(): ServiceError {
  return new ServiceError(
    'body_timeout',
    `The whole body did not arrive within ${BODY_MS_MAX / 1_000} s. Send it faster.`,
  );
}
