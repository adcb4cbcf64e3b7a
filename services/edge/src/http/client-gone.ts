// The client's going away, for work that is done for it alone.
import { ServiceError } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Aborted when the client goes away before it has its answer. Never where the request outlives its client: under an
 * `Idempotency-Key` the answer is kept, and may be asked for again.
 */
export function clientGone(request: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished && !request.idempotent?.outlivesClient)
      gone.abort(new ServiceError('service_unavailable', 'the client went away'));
  });
  return gone.signal;
}
