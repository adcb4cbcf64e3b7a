// What services/video-worker needs of a maker of videos. A video is a job: it is started once, looked at now and then,
// and fetched when it is done; whoever asks may die between any two of these.
import type { Upstream } from '@switchyard/contracts';
import type { Failure } from '../../calls/failure.ts';

export interface VideoImage {
  mediaType: string;
  bytes: Buffer;
}

/** What is to be made. */
export interface VideoJob {
  /** Ours, the same for every start of the same job; on the wire as `Idempotency-Key`. */
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
  /** Fields of the caller's that are none of ours. */
  further: Readonly<Record<string, unknown>>;
}

/** A job that a maker has. */
export interface TakenVideo {
  id: string;
  upstream: Upstream;
  /** The maker's own reference to it, as `start` returned it. */
  job: string;
}

export type VideoProgress =
  | { state: 'pending' }
  /** The maker's own end of it: there will be no video. */
  | { state: 'failed'; message: string }
  | { state: 'completed'; mediaType: string; bytes: AsyncIterable<Uint8Array> };

/**
 * Thrown by `start` where it is certain that the maker did not take the job; any other error leaves that open: the
 * question may have reached it.
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
  /** Whether starting the same job again is the same job, so that a start of unknown end may be repeated. */
  startIsIdempotent(upstream: Upstream): boolean;
  /**
   * Asks the maker to begin, and returns its reference to the job.
   * @throws VideoNotTaken, or anything else where the end is not known.
   */
  start(upstream: Upstream, job: VideoJob, signal: AbortSignal): Promise<string>;
  /**
   * How the job stands. What it needs of the job itself it reads by `input`.
   * @throws anything for a look that told nothing: it is repeated later.
   */
  status(taken: TakenVideo, input: () => Promise<VideoJob>, signal: AbortSignal): Promise<VideoProgress>;
  /** Tells the maker that nobody wants it any more. */
  cancel?(taken: TakenVideo, signal: AbortSignal): Promise<void>;
}
