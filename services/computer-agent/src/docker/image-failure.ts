// Why an image cannot be pulled, in words for its caller.

/** For `details.reason` of `image_unavailable`. */
export type ImageFailureReason =
  | 'private_registry'
  | 'not_found'
  | 'unauthorized'
  | 'rate_limited'
  | 'wrong_platform'
  | 'too_large'
  | 'no_room'
  | 'stalled'
  | 'too_slow'
  | 'failed';

export class ImageFailure extends Error {
  readonly reason: ImageFailureReason;

  constructor(reason: ImageFailureReason, why: string, cause?: unknown) {
    super(why, { cause });
    this.reason = reason;
  }
}
