// Detects a client's disconnect, for work that only this client needs.
import { ServiceError } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Aborted when the client disconnects before it has its answer. Never aborted under an `Idempotency-Key`: the answer is
 * kept for a repeat.
 */
export function clientGone(request: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const closed = () => {
    if (!raw.writableFinished && !request.idempotent?.outlivesClient) gone.abort(clientDisconnected());
  };
  if (raw.destroyed) closed();
  else raw.once('close', closed);
  return gone.signal;
}

export function clientDisconnected(): ServiceError {
  return new ServiceError('service_unavailable', 'The client disconnected.');
}
