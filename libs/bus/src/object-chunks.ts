// The bytes of an object on their way into JetStream, as chunks of equal length.
import { createHash } from 'node:crypto';
import { headers } from '@nats-io/nats-core';
import { ServiceError } from '@switchyard/contracts';
import type { Bus } from './bus.ts';
import { toStoreError } from './object-errors.ts';

/** Bytes of each chunk except the last. */
export const CHUNK_BYTES = 128 * 1024;
/** Header with the index of a chunk. */
export const CHUNK_HEADER = 'Switchyard-Chunk';
/** Chunks in flight without a PubAck. */
const UNSTORED_CHUNKS_MAX = 4;
export const PUBLISH_TIMEOUT_MS = 5_000;
/** A put whose source yields no chunk for this long is aborted. */
const PUT_IDLE_MS_MAX = 5 * 60_000;

/** Publishes the chunks of one object in order, a few of them ahead of their PubAcks. */
export class ChunkWriter {
  readonly #bus: Bus;
  readonly #store: string;
  readonly #subject: string;
  #unstored: Promise<unknown>[] = [];

  constructor(bus: Bus, store: string, subject: string) {
    this.#bus = bus;
    this.#store = store;
    this.#subject = subject;
  }

  /** @throws ServiceError `body_too_large` as soon as the source yields more than `bytesMax`. */
  async write(
    source: AsyncIterable<Uint8Array> | Uint8Array,
    bytesMax: number | undefined,
  ): Promise<{ bytes: number; chunks: number; sha256: Buffer }> {
    const sha256 = createHash('sha256');
    let bytes = 0;
    let count = 0;
    let storedAt = performance.now();
    for await (const chunk of chunksOf(source, bytesMax)) {
      if (performance.now() - storedAt > PUT_IDLE_MS_MAX)
        throw new ServiceError(
          'service_unavailable',
          'The content arrived too slowly to be stored. Send it again.',
        );
      storedAt = performance.now();
      sha256.update(chunk);
      bytes += chunk.length;
      this.#publish(chunk, count++);
      if (this.#unstored.length === UNSTORED_CHUNKS_MAX) await this.#unstored.shift();
    }
    await Promise.all(this.#unstored);
    return { bytes, chunks: count, sha256: sha256.digest() };
  }

  /** Resolves when no publish is in flight. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unstored);
  }

  #publish(chunk: Buffer, index: number): void {
    const which = headers();
    which.set(CHUNK_HEADER, String(index));
    const stored = this.#bus.js
      .publish(this.#subject, chunk, { headers: which, timeout: PUBLISH_TIMEOUT_MS })
      .catch((error: unknown) => {
        throw toStoreError(this.#store, error);
      });
    stored.catch(() => {}); // the error is thrown where the promise is awaited
    this.#unstored.push(stored);
  }
}

/** Splits the bytes into chunks of equal length, except the last. */
async function* chunksOf(
  source: AsyncIterable<Uint8Array> | Uint8Array,
  bytesMax = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, void, undefined> {
  const pieces = source instanceof Uint8Array ? [source] : source;
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let filled = 0;
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > bytesMax)
      throw new ServiceError('body_too_large', `The content exceeds ${bytesMax} bytes. Send less.`);
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < CHUNK_BYTES) continue;
      yield chunk;
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
