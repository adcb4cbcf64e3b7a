// Failures of requests to a caller's URL: two codes, with the name of the parameter that held the URL. Messages reveal
// nothing of resolved addresses or listening servers, so that callers cannot map private networks.
import { ServiceError } from '@switchyard/contracts';

/** In `details.reason` of `url_fetch_failed`. */
type FailureReason =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'too_large'
  | 'redirects'
  | 'encoding'
  | 'protocol';

/** The URL must not be fetched, now or later. */
export function urlNotAllowed(param: string, why: string): ServiceError {
  return new ServiceError('url_not_allowed', `${param}: ${why}`, { param });
}

/** The URL may be fetched, but the request failed. */
export function fetchFailed(
  param: string,
  reason: FailureReason,
  message: string,
  cause?: unknown,
): ServiceError {
  return new ServiceError('url_fetch_failed', `${param}: ${message}`, { param, details: { reason }, cause });
}
