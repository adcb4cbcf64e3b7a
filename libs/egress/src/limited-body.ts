// The decoded body of an answer; beyond its limit it ends with an error. Decoded bytes are counted as they arrive, so a
// decompression bomb is never unpacked further than the limit.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ServiceError } from '@switchyard/contracts';
import { fetchFailed } from './failures.ts';

/** Requested because encoding gains nothing; answers that are encoded anyway are decoded. */
export const ACCEPT_ENCODING = 'identity';

/** At most one encoding: several layers are rarely legitimate. */
const DECODERS: Record<string, (() => Transform) | undefined> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

interface BodyLimits {
  readonly param: string;
  readonly bytesMax: number;
  /** Once aborted, its reason is thrown in place of a failure. */
  readonly signal: AbortSignal;
}

/**
 * The body, to be read once. Its iteration throws ServiceError `url_fetch_failed`, or the signal's reason. Nothing is
 * refused before the first read, since some callers need only the status.
 */
export async function* limitedBody(
  answer: IncomingMessage,
  { param, bytesMax, signal }: BodyLimits,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    if ((announcedLength(answer) ?? 0) > bytesMax) throw tooLarge(param, bytesMax);
    for await (const chunk of decoded(answer, param) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(param, bytesMax);
      yield chunk;
    }
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof ServiceError) throw cause;
    throw isZlibError(cause)
      ? fetchFailed(
          param,
          'encoding',
          'the content does not match its Content-Encoding. Fix the server.',
          cause,
        )
      : fetchFailed(param, 'protocol', 'the answer was cut off. Try again.', cause);
  } finally {
    answer.destroy();
  }
}

/** @throws ServiceError `url_fetch_failed` for an unknown encoding */
function decoded(answer: IncomingMessage, param: string): Readable {
  const encoding = encodingOf(answer);
  if (encoding === 'identity') return answer;
  const decoder = DECODERS[encoding]?.();
  if (!decoder)
    throw fetchFailed(
      param,
      'encoding',
      `unsupported content encoding ${encoding.slice(0, 40)}. Use gzip, deflate, br or zstd.`,
    );
  // The decoder emits every failure, so the callback has nothing to do.
  return pipeline(answer, decoder, () => {});
}

/** The length of the decoded body in bytes, if it is announced. */
export function announcedLength(answer: IncomingMessage): number | null {
  const length = answer.headers['content-length'];
  return length === undefined || encodingOf(answer) !== 'identity' ? null : Number(length);
}

function encodingOf({ headers }: IncomingMessage): string {
  return (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
}

function tooLarge(param: string, bytesMax: number): ServiceError {
  return fetchFailed(param, 'too_large', `the content exceeds ${bytesMax} bytes. Use a smaller file.`);
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && 'code' in error && String(error.code).startsWith('Z');
}
