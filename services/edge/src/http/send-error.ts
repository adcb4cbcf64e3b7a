// Converts errors to HTTP; no other file does.
import { type Dialect, errorKind, errorShapeOf, requestIdHeaders, ServiceError } from '@switchyard/contracts';
import type { FastifyError } from 'fastify';

interface HttpError {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The route's options for its errors. */
interface ErrorOptions {
  repeatable?: boolean | undefined;
  dialect?: Dialect | undefined;
}

/** After these 5xx, no work has begun on any route. */
const NOTHING_BEGUN: ReadonlySet<string> = new Set(['no_capacity', 'overloaded']);

/** Status, headers and body of an error. */
export function renderError(
  error: ServiceError,
  requestId: string,
  { repeatable = true, dialect }: ErrorOptions,
): HttpError {
  const body = JSON.stringify(errorShapeOf(dialect).body(error, requestId));
  const mayHaveBegun = !repeatable && error.status >= 500 && !NOTHING_BEGUN.has(error.code);
  const retry = mayHaveBegun ? false : errorKind(error.code).retry;
  return {
    status: error.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      ...requestIdHeaders(requestId, dialect),
      ...(error.status === 401 ? { 'www-authenticate': 'Bearer realm="switchyard"' } : {}),
      ...(error.code === 'range_not_satisfiable'
        ? { 'content-range': `bytes */${error.details?.bytes}` }
        : {}),
      ...(error.retryAfterS === undefined ? {} : { 'retry-after': String(error.retryAfterS) }),
      ...(retry === undefined ? {} : { 'x-should-retry': String(retry) }),
    },
    body,
  };
}

/** Maps Fastify's errors to our codes, and masks unknown errors. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const error = thrown as Partial<FastifyError>;
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ServiceError(
      'unsupported_media_type',
      'Unsupported content type. Send Content-Type: application/json.',
      { cause: thrown },
    );
  if (typeof error.statusCode === 'number' && error.statusCode >= 400 && error.statusCode < 500)
    return new ServiceError('invalid_request', error.message ?? 'The request is not valid. See /docs.', {
      cause: thrown,
    });
  return new ServiceError('internal_error', 'Internal error. Report the request id to the operator.', {
    cause: thrown,
  });
}
