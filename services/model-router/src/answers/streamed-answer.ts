// An answer that is passed on to the caller while it arrives: server-sent events of a chat, or audio of speech.
import type { ModelReplyHead, ServiceError } from '@switchyard/contracts';
import type { Price } from '../spending/pricing.ts';

export interface StreamEnd {
  /** The remaining bytes to send. */
  last: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

export interface StreamedAnswer {
  /** Whether any byte was sent to the caller; afterwards no fallback is possible. */
  readonly forwarded: boolean;
  /** Whether the stream said that it is complete; false for a format that ends with its body. */
  readonly ended: boolean;
  /** Whether an answer of this content type is such a stream; otherwise it is read whole. */
  takes(contentType: string): boolean;
  head(contentType: string): ModelReplyHead;
  /**
   * Takes bytes of the upstream; returns the bytes to pass on now, if any.
   * @throws UnusableAnswer when the bytes are not an answer.
   */
  push(bytes: Buffer): Buffer | null;
  /** @throws UnusableAnswer when the stream was cut or has no content. */
  finish(): StreamEnd;
  /** The output so far. */
  produced(): Pick<StreamEnd, 'price' | 'basis'>;
  /** The error message at the end of a broken stream; null when the format has none and the connection is cut. */
  lastWords(error: ServiceError, requestId: string): Buffer | null;
}
