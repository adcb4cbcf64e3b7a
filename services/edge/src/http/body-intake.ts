// Reads a large body off its socket under the byte budget: the socket is not read until the body has its place, a body
// that comes too slowly loses it, and the rest of a refused body is taken and dropped, so that its client reads why.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@switchyard/contracts';
import { type ByteBudget, type Clock, type HeldBytes, LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import { BODY_PACE_BYTES_MIN, BODY_PACE_MS } from './limits.ts';

export interface BodyIntakeOptions {
  budget: ByteBudget;
  clock: Clock;
  /** Bytes of the body at most, as it comes over the wire. */
  bytesMax: number;
  /** What a body over that is told. */
  limit: string;
  /** Bytes of memory that a body of so many bytes takes. */
  memoryFor(bodyBytes: number): number;
}

export class BodyIntake implements HeldBytes {
  readonly #raw: IncomingMessage;
  readonly #options: BodyIntakeOptions;
  /** Bytes that Content-Length promises; null where the body is chunked. */
  readonly declaredBytes: number | null;
  #held: HeldBytes | null = null;

  constructor(raw: IncomingMessage, options: BodyIntakeOptions) {
    this.#raw = raw;
    this.#options = options;
    // Node has refused a Content-Length that is no number before.
    const length = raw.headers['content-length'];
    this.declaredBytes = length === undefined ? null : Number(length);
  }

  /**
   * Hands the body on, piece by piece, to the end; a piece whose `take` returns a promise holds the socket back until then.
   * The memory stays taken until `release`, unless this fails.
   * @throws ServiceError `body_too_large`, `service_unavailable` for want of room, `body_timeout`, `invalid_request` for a
   *   body that is cut; whatever `take` throws.
   */
  async read(take: (piece: Buffer) => void | Promise<void>): Promise<void> {
    const { bytesMax } = this.#options;
    try {
      if (this.declaredBytes !== null && this.declaredBytes > bytesMax) throw this.#tooLarge();
      if (this.declaredBytes !== null && this.declaredBytes > LARGE_BODY_BYTES_MIN)
        await this.#hold(this.declaredBytes);
      await this.#pump(take);
    } catch (error) {
      this.release();
      this.#raw.resume(); // nobody listens: it is dropped
      throw error;
    }
  }

  /** The bytes are held no more. May be called again. */
  release(): void {
    this.#held?.release();
  }

  /** A client that goes away meanwhile leaves the queue: as soon as its socket tells, or else at its turn. */
  async #hold(bodyBytes: number): Promise<void> {
    const { budget, memoryFor } = this.#options;
    const gone = new AbortController();
    const leave = () => gone.abort(cut());
    if (this.#raw.destroyed) leave();
    this.#raw.once('close', leave);
    try {
      this.#held = await budget.take(memoryFor(bodyBytes), gone.signal);
    } finally {
      this.#raw.off('close', leave);
    }
  }

  #pump(take: (piece: Buffer) => void | Promise<void>): Promise<void> {
    const raw = this.#raw;
    const { bytesMax } = this.#options;
    return new Promise((resolve, reject) => {
      let bytes = 0;
      const settle = (outcome: () => void) => {
        stopPace();
        raw.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
        outcome();
      };
      const fail = (error: unknown) => settle(() => reject(error));
      const keepPace = () => this.#keepPace(() => bytes, fail);
      const onData = (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > bytesMax) return fail(this.#tooLarge());
        try {
          const taken = this.#needsPlace(bytes) ? this.#hold(bytesMax).then(placed(piece)) : take(piece);
          if (!taken) return;
          raw.pause();
          taken.then(() => raw.resume(), fail);
        } catch (error) {
          fail(error);
        }
      };
      /** Chunked, and larger than what goes for free: its place is taken now, for the most that it may become. */
      const placed = (piece: Buffer) => () => {
        stopPace = keepPace();
        return take(piece);
      };
      const onEnd = () => settle(resolve);
      const onCut = (cause?: Error) => fail(cut(cause));
      let stopPace = this.#held ? keepPace() : () => {};
      if (raw.destroyed && !raw.readableEnded) return onCut();
      raw.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
      raw.resume();
    });
  }

  #needsPlace(bytes: number): boolean {
    return this.#held === null && bytes > LARGE_BODY_BYTES_MIN;
  }

  /** Looks again and again whether enough has come; returns how to stop that. */
  #keepPace(came: () => number, fail: (error: ServiceError) => void): () => void {
    const { clock } = this.#options;
    let before = came();
    const look = () => {
      if (!this.#raw.isPaused() && came() - before < BODY_PACE_BYTES_MIN) return fail(tooSlow());
      before = came();
      stop = clock.after(BODY_PACE_MS, look);
    };
    let stop = clock.after(BODY_PACE_MS, look);
    return () => stop();
  }

  #tooLarge(): ServiceError {
    return new ServiceError('body_too_large', this.#options.limit);
  }
}

function cut(cause?: Error): ServiceError {
  return new ServiceError('invalid_request', 'the body ended before it was whole', { cause });
}

function tooSlow(): ServiceError {
  const message = `a large body must come with at least ${BODY_PACE_BYTES_MIN} bytes in ${BODY_PACE_MS / 1_000} s`;
  return new ServiceError('body_timeout', message);
}
