// The interface of a video maker for services/video-worker. A video is a job: started once, checked periodically, and
// fetched when it is done. The worker may die between any two of these steps.
import type { Upstream } from '@switchyard/contracts';
import type { Failure } from '../failure.ts';

export interface VideoImage {
  mediaType: string;
  bytes: Buffer;
}

/** The video to make. */
export interface VideoJob {
  /** Our id, the same for every start of the job; sent as `Idempotency-Key`. */
  id: string;
  prompt: string;
  /** Seconds. */
  duration: number;
  /** 480p, 720p, 1080p or <width>x<height>; null: the model chooses. */
  resolution: string | null;
  /** <w>:<h> */
  aspectRatio: string | null;
  generateAudio: boolean | null;
  /** The first frame. */
  image: VideoImage | null;
  seed: number | null;
  /** For the maker's own request body, unchanged. */
  providerOptions: Readonly<Record<string, unknown>>;
  /** The caller's fields that are not part of our API. */
  further: Readonly<Record<string, unknown>>;
}

/** A job that a maker accepted. */
export interface TakenVideo {
  id: string;
  upstream: Upstream;
  /** The maker's reference to the job, as `start` returned it. */
  job: string;
}

export type VideoProgress =
  | { state: 'pending' }
  /** The maker ended the job without a video. */
  | { state: 'failed'; message: string }
  | { state: 'completed'; mediaType: string; bytes: AsyncIterable<Uint8Array> };

/**
 * Thrown by `start` when the maker certainly did not accept the job. After any other error the request may have reached
 * the maker.
 */
export class VideoNotTaken extends Error {
  override readonly name = 'VideoNotTaken';
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.failure = failure;
  }
}

export interface VideoMaker {
  /** Whether a repeated start returns the same job, so that a start with unknown outcome may be repeated. */
  startIsIdempotent(upstream: Upstream): boolean;
  /**
   * Starts the job at the maker, and returns the maker's reference to it.
   * @throws VideoNotTaken, or any other error when the outcome is unknown
   */
  start(upstream: Upstream, job: VideoJob, signal: AbortSignal): Promise<string>;
  /**
   * Status of the job; `input` reads the job's input if needed.
   * @throws any error when the status is unknown; the check is repeated later
   */
  status(taken: TakenVideo, input: () => Promise<VideoJob>, signal: AbortSignal): Promise<VideoProgress>;
  /** Cancels the job at the maker. */
  cancel?(taken: TakenVideo, signal: AbortSignal): Promise<void>;
}
