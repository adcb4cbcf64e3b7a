// Hands a body in memory over to the bus; its memory is released when the bus has taken the last piece.
import type { HeldBytes } from '@switchyard/service';

/** Bytes that the bus takes at a time. */
const PIECE_BYTES = 256 * 1024;

/** Releases `held` when all is taken, or when the call ends earlier. */
export async function* handOver(body: Buffer, held: HeldBytes): AsyncGenerator<Uint8Array> {
  try {
    for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
  } finally {
    held.release();
  }
}
