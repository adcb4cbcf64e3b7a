// A body of any type that goes on as it comes, piece by piece: nothing of it is held here, and who takes it slowly slows
// its client.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { STALLED_UPLOAD_MS_MAX } from './limits.ts';

export interface StreamedBodyOptions {
  readonly clock: Clock;
  readonly bytesMax: number;
}

/** Bytes that the client promises; null where the body is chunked. */
export function declaredBytes({ headers }: IncomingMessage): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length); // Node has refused one that is no number
}

/**
 * To be read once. Left before its end, the rest is taken off the socket and dropped, so that the client reads its answer.
 * @throws ServiceError `body_too_large`, `body_timeout`, `invalid_request` for a body that is cut.
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
      if (bytes > bytesMax) throw new ServiceError('body_too_large', `the body is over ${bytesMax} bytes`);
      yield step.value;
    }
  } finally {
    pieces.return?.().then(
      () => raw.resume(),
      () => {}, // its client went away
    );
  }
}

async function inTime<T>(step: Promise<T>, clock: Clock): Promise<T> {
  const late = Promise.withResolvers<never>();
  const stopClock = clock.after(STALLED_UPLOAD_MS_MAX, () =>
    late.reject(
      new ServiceError('body_timeout', `nothing of the body came for ${STALLED_UPLOAD_MS_MAX / 1_000} s`),
    ),
  );
  try {
    return await Promise.race([step, late.promise]);
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError('invalid_request', 'the body ended before it was whole', { cause });
  } finally {
    stopClock();
  }
}
