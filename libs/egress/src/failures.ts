// How a request to a caller's URL fails: under two codes, with the name of the parameter that held the URL. Messages tell
// nothing of what a name resolves to or of what listens there: that would make us a map of private networks.
import { ServiceError } from '@switchyard/contracts';

/** In `details.reason` of `url_fetch_failed`. */
export type FailureReason =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'too_large'
  | 'redirects'
  | 'encoding'
  | 'protocol';

/** We do not go there, now or later. */
export function urlNotAllowed(param: string, why: string): ServiceError {
  return new ServiceError('url_not_allowed', `${param}: ${why}`, { param });
}

/** We may go there, and could not get it. */
export function fetchFailed(
  param: string,
  reason: FailureReason,
  message: string,
  cause?: unknown,
): ServiceError {
  return new ServiceError('url_fetch_failed', `${param}: ${message}`, { param, details: { reason }, cause });
}
