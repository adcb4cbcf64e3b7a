// What the router needs of a maker's adapter: one exchange with an upstream, by callbacks, that can be paused and ended.
import type { ModelType, TranscriptionParams, Upstream } from '@switchyard/contracts';

export interface UpstreamRequest {
  type: ModelType;
  upstream: Upstream;
  /** The caller's body, already under the upstream's own name for the model; of a transcription the audio itself. */
  body: Buffer;
  /**
   * Of a transcription: what the caller said beside the audio; its media type and file name fit what the audio is. The
   * answer is JSON in OpenAI's `verbose_json` shape (`TranscriptionAnswer`), whatever format the caller asked for.
   */
  transcription?: TranscriptionParams;
  /** Whether bytes of a good answer go on as they come; an error's body is always collected. */
  stream: boolean;
  requestId: string;
}

/** `error.code` of an adapter's own refusal of a field that its maker has nothing like, before anything was sent. */
export const ADAPTER_LACKS_FIELD = 'adapter_lacks_field';

export interface UpstreamHead {
  status: number;
  contentType: string;
  retryAfterS: number | null;
}

/** Hears of one exchange: head, data, then `onEnd` or `onError` once. */
export interface UpstreamSink {
  onHead(head: UpstreamHead): void;
  onData(bytes: Buffer): void;
  onEnd(): void;
  onError(error: Error): void;
}

export interface Exchange {
  /** Stops reading the upstream's socket. */
  pause(): void;
  resume(): void;
  /** Ends it; the sink hears nothing more of it. */
  abort(): void;
}

export interface Maker {
  /** The types of model that this adapter can call. */
  readonly types: readonly ModelType[];
  /** What a catalog need not say of this maker's upstreams. */
  readonly defaults?: { readonly baseUrl: string; readonly apiKeyEnv: string };
  start(request: UpstreamRequest, sink: UpstreamSink): Exchange;
}
