// Answers a request with an error, and logs the refusal of an authenticated call.
import type { EventPublisher } from '@switchyard/bus';
import { type Dialect, eventIds, type KeyRecord, makeEvent, type ServiceError } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { renderError, toServiceError } from './send-error.ts';

export const EVENT_SOURCE = '/switchyard/edge';

/** Refusals of a body of which more may arrive. */
const UNREAD: ReadonlySet<string> = new Set(['body_too_large', 'body_timeout', 'service_unavailable']);

export interface AnswerErrorDeps {
  events: Pick<EventPublisher, 'publish'>;
  clock: Clock;
  logger: Logger;
}

/** Takes any error; unknown ones are logged and masked. The route decides the shape of the answer. */
export function answerError(
  deps: AnswerErrorDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): void {
  const error = toServiceError(thrown);
  const { repeatable, dialect } = request.routeOptions.config;
  request.heldBody?.release();
  if (error.code === 'internal_error')
    deps.logger.error(
      { err: thrown, request: request.id, path: request.routeOptions.url ?? null },
      'a request failed with an unexpected error',
    );
  if (request.apiKey && !error.logged) logRefusal(deps, request, request.apiKey, error, dialect);
  const { status, headers, body } = renderError(error, request.id, { repeatable, dialect });
  // Closing at once, as fastify does, would reset the connection of a client that is still sending, before it reads
  // the error. Instead, the rest of its body is read and discarded for at most REQUEST_TIMEOUT_MS.
  // A draining edge announces on the raw response that it closes the connection.
  const isByParser = reply.hasHeader('connection') && !reply.raw.hasHeader('connection');
  if (isByParser && UNREAD.has(error.code)) reply.removeHeader('connection');
  reply.code(status).headers(headers).send(body);
}

function logRefusal(
  { events, clock }: AnswerErrorDeps,
  request: FastifyRequest,
  key: KeyRecord,
  error: ServiceError,
  dialect: Dialect | undefined,
): void {
  const data = {
    request_id: request.id,
    org: key.org,
    key_id: key.id,
    type: request.subject?.type ?? null,
    method: request.method,
    path: request.routeOptions.url ?? request.url.slice(0, 200),
    ...(dialect ? { dialect } : {}),
    requested_model: request.subject?.model ?? null,
    computer_id: request.subject?.computer ?? null,
    http_status: error.status,
    error_code: error.code,
    latency_ms: Math.round((clock.monotonic() - request.startedAt) * 100) / 100,
    ...request.caller,
  };
  const id = eventIds.refused(request.id);
  const time = new Date(clock.now());
  const event = makeEvent({ name: 'call.refused', id, source: EVENT_SOURCE, time, data });
  events.publish(event).catch(() => {}); // logged by the publisher
}
