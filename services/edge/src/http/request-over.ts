// Detects the end of a request: for counts of open requests, and for work that only its client needs.
import { ServiceError } from '@switchyard/contracts';
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

/**
 * Aborted when the client disconnects before it has its answer. Never aborted under an `Idempotency-Key`: the answer is
 * kept for a repeat.
 */
export function clientGone(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const closed = () => {
    if (hasLeft(request, reply)) gone.abort(clientDisconnected());
  };
  if (reply.raw.destroyed) closed();
  else reply.raw.once('close', closed);
  return gone.signal;
}

/** Whether the client disconnected and its work is of no use to it any more. */
export function hasLeft({ idempotent }: FastifyRequest, { raw }: FastifyReply): boolean {
  return raw.destroyed && !raw.writableFinished && !idempotent?.outlivesClient;
}

export function clientDisconnected(): ServiceError {
  return new ServiceError('service_unavailable', 'The client disconnected.');
}
