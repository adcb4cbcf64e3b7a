// Detects the end of a request, for what counts while it is open.
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Calls `run` when the answer was sent or its client left; under an `Idempotency-Key`, which outlives the client, when
 * the work has ended.
 */
export function whenOver({ idempotent }: FastifyRequest, { raw }: FastifyReply, run: () => void): void {
  const end = () => {
    if (idempotent?.outlivesClient) void idempotent.ended.then(run);
    else run();
  };
  if (raw.destroyed) end();
  else raw.once('close', end);
}
