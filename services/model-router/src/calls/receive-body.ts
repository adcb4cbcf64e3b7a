// Receives the body of a call from the bus. A large body reserves memory before its caller may send it, and is
// assembled in place without a second copy.
import type { IncomingCall } from '@switchyard/bus';
import { MODEL_BODY_BYTES_MAX, type ModelCallHead, ServiceError } from '@switchyard/contracts';
import { type ByteBudget, type HeldPlaces, LARGE_BODY_BYTES_MIN } from '@switchyard/service';

interface ReceivedBody {
  bytes: Buffer;
  /** Null for a small body. */
  memory: HeldPlaces | null;
}

/** JSON is copied once per upstream to set the model's name, and a file into its form. */
const COPIES = 2;
/** JSON of another dialect than chat is translated first. */
const COPIES_OF_A_DIALECT = 3;

/** @throws ServiceError `service_unavailable` when there is no room or the caller leaves; `body_too_large` */
export async function receiveBody(
  call: IncomingCall,
  { org, dialect, body_bytes: expected = 0 }: ModelCallHead,
  budget: ByteBudget,
): Promise<ReceivedBody> {
  if (expected <= LARGE_BODY_BYTES_MIN)
    return { bytes: await call.readBody(MODEL_BODY_BYTES_MAX), memory: null };
  if (expected > MODEL_BODY_BYTES_MAX)
    throw new ServiceError(
      'body_too_large',
      `The body is too large. Send at most ${MODEL_BODY_BYTES_MAX} bytes.`,
    );
  const memory = await budget.take(copiesOf(dialect) * expected, { org, signal: call.signal });
  try {
    return { bytes: await collect(call.body(), expected), memory };
  } catch (error) {
    memory.release();
    throw error;
  }
}

function copiesOf(dialect: ModelCallHead['dialect']): number {
  return dialect === undefined || dialect === 'chat' ? COPIES : COPIES_OF_A_DIALECT;
}

async function collect(pieces: AsyncIterable<Buffer>, expected: number): Promise<Buffer> {
  const body = Buffer.allocUnsafeSlow(expected);
  let at = 0;
  for await (const piece of pieces) {
    if (at + piece.length > expected) throw wrongLength();
    body.set(piece, at);
    at += piece.length;
  }
  if (at < expected) throw wrongLength();
  return body;
}

function wrongLength(): ServiceError {
  return new ServiceError(
    'internal_error',
    'The length of the body differs from its announced length. Try again.',
  );
}
