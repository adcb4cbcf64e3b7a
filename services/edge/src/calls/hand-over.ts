// Hands bodies in memory over to the bus, so that a call that runs for minutes holds no memory for its body.
import type { ByteSource } from '@switchyard/bus';
import { type HeldBytes, LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';

/** Bytes that the bus takes at a time. */
const PIECE_BYTES = 256 * 1024;

/** Takes the JSON body from the request; a large one keeps its place in memory until the bus has taken its last piece. */
export function handOver(request: FastifyRequest): Uint8Array | ByteSource {
  const body = request.body as Buffer;
  const held = request.heldBody;
  request.body = undefined;
  return held && body.length > LARGE_BODY_BYTES_MIN ? inPieces(body, held) : body;
}

/** Releases `held` when all is taken, or when the call ends earlier. */
export function inPieces(body: Buffer, held: HeldBytes): ByteSource {
  return takePieces({ body }, held);
}

/** A generator keeps its arguments in memory after its end: the body must not be one of them. */
async function* takePieces(owned: { body: Buffer | null }, held: HeldBytes): AsyncGenerator<Uint8Array> {
  try {
    for (let at = 0; owned.body && at < owned.body.length; at += PIECE_BYTES)
      yield owned.body.subarray(at, at + PIECE_BYTES);
  } finally {
    owned.body = null;
    held.release();
  }
}
