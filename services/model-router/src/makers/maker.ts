// The router's interface to a maker's adapter: one request, and its answer as an async iterable.
import type { Dialect, ModelType, TranscriptionParams, Upstream } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { HeldPlaces } from '@switchyard/service';
import type { Dispatcher } from 'undici';

export interface MakerDeps {
  /** Reads an upstream's credential by the name of its variable. */
  secret(name: string): string | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface ConnectedDeps extends MakerDeps {
  /** Connections shared by all makers. */
  dispatcher: Dispatcher;
  /** Fetches URLs that callers name, and those that a maker names outside its origin. */
  egress: Egress;
}

export interface UpstreamRequest {
  type: ModelType;
  upstream: Upstream;
  /** The caller's body with the upstream's model name; for a transcription, the audio itself. */
  body: Buffer;
  /**
   * For a transcription: the fields beside the audio; media type and file name match the audio. The answer is JSON in
   * OpenAI's `verbose_json` shape (`TranscriptionAnswer`), whatever format the caller requested.
   */
  transcription?: TranscriptionParams;
  /** Whether to pass on the bytes of a good answer as they arrive; an error body is always collected. */
  stream: boolean;
  requestId: string;
  /** The body is in a dialect that the maker speaks; the answer must be too. */
  native?: { dialect: Dialect; headers: Readonly<Record<string, string>> } | undefined;
}

export interface UpstreamAnswer {
  status: number;
  contentType: string;
  retryAfterS: number | null;
  body: AsyncIterable<Uint8Array>;
}

export interface CallOptions {
  /** Ends the call at any time: the maker's socket is closed. */
  signal: AbortSignal;
  /** Called before each request to the maker; a failure before the first is not the maker's. */
  onRequest(): void;
  /** Called when the request was sent in full, so the maker bills it from here on; once per request of a split call. */
  onAccepted(): void;
  /**
   * Reserves memory for what the adapter downloads, until the end of the attempt.
   * @throws ServiceError `service_unavailable` when there is no room in time; the signal's reason
   */
  reserve(bytes: number): Promise<Pick<HeldPlaces, 'keep'>>;
}

export interface Maker {
  /** Dialects of language models, besides chat, whose requests the maker takes unchanged. */
  readonly speaks?: readonly Dialect[];
  /**
   * Resolves when the answer begins; an error of the maker may be an answer too.
   * @throws AttemptFailed for an error of the maker; network errors, here or from the body
   */
  call(request: UpstreamRequest, options: CallOptions): Promise<UpstreamAnswer>;
}
