// The body of a call off the bus. A large one has its place in memory before its caller is let send it, and is put
// together there without a second copy.
import type { IncomingCall } from '@switchyard/bus';
import {
  MODEL_BODY_BYTES_MAX,
  type ModelCallHead,
  type ModelType,
  ServiceError,
} from '@switchyard/contracts';
import { type ByteBudget, type HeldBytes, LARGE_BODY_BYTES_MIN } from '@switchyard/service';

export interface ReceivedBody extends HeldBytes {
  bytes: Buffer;
}

/** JSON is written anew for each upstream, under its own name for the model; a file goes out as it is. */
const COPIES_OF_JSON = 2;
const COPIES_OF_A_FILE = 1;

/** @throws ServiceError `service_unavailable` for want of room, or when the caller goes away; `body_too_large` */
export async function receiveBody(
  call: IncomingCall,
  type: ModelType,
  { body_bytes: expected = 0 }: ModelCallHead,
  budget: ByteBudget,
): Promise<ReceivedBody> {
  if (expected <= LARGE_BODY_BYTES_MIN)
    return { bytes: await call.readBody(MODEL_BODY_BYTES_MAX), release: () => {} };
  if (expected > MODEL_BODY_BYTES_MAX)
    throw new ServiceError('body_too_large', `the body is over the limit of ${MODEL_BODY_BYTES_MAX} bytes`);
  const copies = type === 'transcription' ? COPIES_OF_A_FILE : COPIES_OF_JSON;
  const held = await budget.take(copies * expected, call.signal);
  try {
    return { bytes: await collect(call.body(), expected), release: () => held.release() };
  } catch (error) {
    held.release();
    throw error;
  }
}

async function collect(pieces: AsyncIterable<Buffer>, expected: number): Promise<Buffer> {
  const body = Buffer.allocUnsafeSlow(expected);
  let at = 0;
  for await (const piece of pieces) {
    if (at + piece.length > expected) throw notAsTold();
    body.set(piece, at);
    at += piece.length;
  }
  if (at < expected) throw notAsTold();
  return body;
}

function notAsTold(): ServiceError {
  return new ServiceError('internal_error', 'the body is not as long as the head of its call says');
}
