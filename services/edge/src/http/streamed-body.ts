// Passes on a body of any type, piece by piece. Nothing is buffered here, so a slow reader slows the client.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { STALLED_UPLOAD_MS_MAX } from './limits.ts';

interface StreamedBodyOptions {
  readonly clock: Clock;
  readonly bytesMax: number;
}

/** Bytes declared by Content-Length; null for a chunked body. */
export function declaredBytes({ headers }: IncomingMessage): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length); // Node has already rejected an invalid one
}

/**
 * Readable once. If the reader stops early, the rest is read and discarded, so that the client reads its answer.
 * @throws ServiceError `body_too_large`, `body_timeout`, `invalid_request` for an incomplete body.
 */
export async function* streamedBody(
  raw: IncomingMessage,
  { clock, bytesMax }: StreamedBodyOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const pieces: AsyncIterator<Buffer> = raw.iterator({ destroyOnReturn: false });
  let bytes = 0;
  try {
    for (;;) {
      const step = await inTime(pieces.next(), clock);
      if (step.done) return;
      bytes += step.value.length;
      if (bytes > bytesMax)
        throw new ServiceError('body_too_large', `The body exceeds ${bytesMax} bytes. Send less.`);
      yield step.value;
    }
  } finally {
    pieces.return?.().then(
      () => raw.resume(),
      () => {}, // the client disconnected
    );
  }
}

async function inTime<T>(step: Promise<T>, clock: Clock): Promise<T> {
  const late = Promise.withResolvers<never>();
  const stopClock = clock.after(STALLED_UPLOAD_MS_MAX, () =>
    late.reject(
      new ServiceError(
        'body_timeout',
        `No bytes of the body arrived for ${STALLED_UPLOAD_MS_MAX / 1_000} s. Send it again.`,
      ),
    ),
  );
  try {
    return await Promise.race([step, late.promise]);
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw incompleteBody(cause);
  } finally {
    stopClock();
  }
}

export function incompleteBody(cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', 'The body is incomplete. Send the whole body.', { cause });
}
