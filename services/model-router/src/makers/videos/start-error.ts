// What an error of a start says about whether the maker has the job now.
import { type Failure, failureOfAnswer } from '../../calls/failure.ts';
import { VideoNotTaken } from './video-maker.ts';

/** Errors of a connection that was never made: nothing was asked, so nothing was taken. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
const CAUSES_MAX = 8;

/** The maker answered with an error: it did not take the job. */
export function notTaken(status: number, body: Buffer, retryAfterS: number | null): VideoNotTaken {
  return new VideoNotTaken(failureOfAnswer(status, body, retryAfterS));
}

/** VideoNotTaken for an error of a connection that was never made; the error itself for all others. */
export function ofNetwork(error: unknown): unknown {
  let deepest: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && deepest instanceof Error; depth += 1) {
    const { code } = deepest as Error & { code?: unknown };
    if (typeof code === 'string' && NEVER_SENT.has(code))
      return new VideoNotTaken(unreachable(code), { cause: error });
    deepest = deepest.cause;
  }
  return error;
}

function unreachable(code: string): Failure {
  const message = `the upstream could not be reached: ${code}`;
  return { status: null, message, kind: 'fault', retryAfterS: null };
}
