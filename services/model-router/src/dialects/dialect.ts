// The interface of a dialect's translation to and from chat. A dialect is pure: no I/O, no clock.
import type { ServiceError } from '@switchyard/contracts';
import type { ChatChunk, ChatCompletion } from './chat-shapes.ts';

/** A caller's parsed body; the edge has validated it by the dialect's schema. */
export type DialectBody = Readonly<Record<string, unknown>>;

/** Facts about the call that an answer may show. */
export interface DialectCall {
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** A call's body as a chat request, and what converts its answers back. */
export interface Translation {
  /** The chat request, with the caller's `model`, `models` and `stream`. */
  readonly chat: Record<string, unknown>;
  /**
   * Further chat fields, which only say how hard to work: left out for a model whose `supported_parameters` lack one,
   * since clients of the dialect send them to any model.
   */
  readonly hints?: Readonly<Record<string, unknown>>;
  /**
   * The error of makers that read chat, when only the dialect's own maker can serve the request; `chat` is for its price
   * then. Absent or null when chat expresses the request.
   */
  readonly nativeOnly?: ServiceError | null;
  /** The whole answer in the dialect. */
  answer(completion: ChatCompletion): object;
  /** A new translator for the stream of one attempt. */
  stream(): StreamTranslator;
}

/** Converts one stream of chat chunks to server-sent events of the dialect; each returns whole events, or ''. */
export interface StreamTranslator {
  push(chunk: ChatChunk): string;
  /** After the last chunk of a good stream. */
  end(): string;
  /** The end of a stream that failed after it had begun. */
  fail(error: ServiceError, requestId: string): string;
}

/** @throws ServiceError `invalid_request` naming the field that no maker may get, or that chat cannot express */
export type Translate = (body: DialectBody, call: DialectCall) => Translation;
