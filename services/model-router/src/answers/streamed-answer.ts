// An answer that goes on to the caller while it comes: server-sent events of a chat, or the sound of speech.
import {
  type CatalogModel,
  type ModelCallHead,
  type ModelReplyHead,
  type ModelType,
  type ServiceError,
  speechRequest,
} from '@switchyard/contracts';
import type { Price } from '../calls/pricing.ts';
import { AudioAnswer } from './audio-answer.ts';
import { SseAnswer } from './sse-answer.ts';

export interface StreamEnd {
  /** What is left to send. */
  last: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

export interface StreamedAnswer {
  /** Whether anything has gone on to the caller: from then on there is no falling back. */
  readonly forwarded: boolean;
  /** Whether an answer of this content type is such a stream; if not, it is taken whole. */
  takes(contentType: string): boolean;
  head(contentType: string): ModelReplyHead;
  /**
   * Takes bytes of the upstream; returns those that go on now, if any.
   * @throws UnusableAnswer when they are no answer.
   */
  push(bytes: Buffer): Buffer | null;
  /** @throws UnusableAnswer when the stream was cut, or had nothing in it. */
  finish(): StreamEnd;
  /** What was produced so far. */
  produced(): Pick<StreamEnd, 'price' | 'basis'>;
  /** How a stream that breaks off tells its reader; null: it has no words for it, and is cut. */
  lastWords(error: ServiceError, requestId: string): Buffer | null;
}

/** The stream that a call of this type asks for; null where its answer comes in one piece. */
export function streamedAnswer(
  type: ModelType,
  model: CatalogModel,
  body: Buffer,
  { stream, include_usage: includeUsage }: Pick<ModelCallHead, 'stream' | 'include_usage'>,
): StreamedAnswer | null {
  if (type === 'language' && stream) return new SseAnswer(model, { request: body, includeUsage });
  if (type === 'speech')
    return new AudioAnswer(model, speechRequest.parse(JSON.parse(body.toString('utf8'))).input);
  return null;
}
