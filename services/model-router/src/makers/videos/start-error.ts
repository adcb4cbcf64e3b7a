// Decides after a failed start whether the maker may have accepted the job.

import { networkErrorIn } from '../../http/network-error.ts';
import type { Failure } from '../failure.ts';
import { VideoNotTaken } from './video-maker.ts';

/** Errors of a connection that was never established, so that the maker cannot have the job. */
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

/** A proxy stopped waiting for the maker, which may have the job. 524 is Cloudflare's. */
const NO_ANSWER_IN_TIME: ReadonlySet<number | null> = new Set([408, 504, 524]);

/** The maker lost the job, so no video will come. */
export const JOB_LOST = 'The maker no longer has the job. Create the video again.';

/** VideoNotTaken for a connection that was never established; otherwise the error itself. */
export function ofNetwork(error: unknown): unknown {
  const code = networkErrorIn(error)?.code;
  if (code === undefined || !NEVER_SENT.has(code)) return error;
  const message = `the upstream could not be reached: ${code}`;
  return new VideoNotTaken({ status: null, message, kind: 'fault', retryAfterS: null }, { cause: error });
}

/** VideoNotTaken for a maker's own error; another error when the outcome is unknown. */
export function ofMaker(failure: Failure): Error {
  return NO_ANSWER_IN_TIME.has(failure.status) ? new Error(failure.message) : new VideoNotTaken(failure);
}
