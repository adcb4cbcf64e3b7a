// Decides after a failed start whether the maker may have accepted the job.

import { networkErrorIn } from '../../http/network-error.ts';
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

/** The maker lost the job, so no video will come. */
export const JOB_LOST = 'The maker no longer has the job. Create the video again.';

/** VideoNotTaken for a connection that was never established; otherwise the error itself. */
export function ofNetwork(error: unknown): unknown {
  const code = networkErrorIn(error)?.code;
  if (code === undefined || !NEVER_SENT.has(code)) return error;
  const message = `the upstream could not be reached: ${code}`;
  return new VideoNotTaken({ status: null, message, kind: 'fault', retryAfterS: null }, { cause: error });
}
