// The interface of a dialect in which bytes pass through to a maker that speaks it, metered from the maker's own usage.
import type { CatalogModel } from '@switchyard/contracts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import type { PricedAnswer } from '../answers/whole-answer.ts';

export interface NativeDialect {
  /** The caller's bytes without what only other makers understand. */
  body(given: Buffer): Buffer;
  /**
   * Prices a whole answer and writes our model name and the cost into it.
   * @throws UnusableAnswer
   */
  finish(model: CatalogModel, request: Buffer, answer: Buffer): PricedAnswer;
  /** A new reader for the stream of one attempt. */
  stream(model: CatalogModel, request: Buffer): StreamedAnswer;
}
