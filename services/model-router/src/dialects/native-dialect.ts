// The interface of a dialect in which bytes pass through to a maker that speaks it, metered from the maker's own usage.
import type { CatalogModel, ModelCallHead } from '@switchyard/contracts';
import type { InputTokens } from '../answers/event-stream.ts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import type { PricedAnswer } from '../answers/whole-answer.ts';
import type { DialectBody } from './dialect.ts';

export interface NativeDialect {
  /** Names of the limit of output tokens; the first is set when the caller sets none. */
  readonly lengths: readonly [string, ...string[]];
  /** The lowest output token limit that its maker accepts. */
  readonly outputTokensMin: number;
  /** Whether the dialect's maker understands the request; others are translated for it too. */
  serves(request: DialectBody): boolean;
  /** Headers of the caller that its maker gets. */
  headers(head: ModelCallHead): Record<string, string>;
  /** The caller's bytes without parts for other makers only. */
  body(given: Buffer, model: CatalogModel): Buffer;
  /**
   * Prices a whole answer and writes our model name and the cost into it.
   * @throws UnusableAnswer, ReportedError
   */
  finish(model: CatalogModel, answer: Buffer, inputTokens: InputTokens): PricedAnswer;
  /** A new reader for the stream of one attempt. */
  stream(model: CatalogModel, request: Buffer, inputTokens: InputTokens): StreamedAnswer;
}
