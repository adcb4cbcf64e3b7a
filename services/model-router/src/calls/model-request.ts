// What a call asks, whichever endpoint it came by, as far as its attempts need to know.
import type { CatalogModel, ServiceError, Upstream } from '@switchyard/contracts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import type { UpstreamRequest } from '../makers/maker.ts';
import type { Expected } from '../spending/expected-cost.ts';
import type { Price } from './pricing.ts';

export interface FinishedAnswer {
  contentType: string;
  body: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

export interface ModelRequest {
  /** Why the model cannot serve it; null when it can. */
  refusalOf(model: CatalogModel): ServiceError | null;
  /** What it may cost, asked where something limits its caller. */
  expected(model: CatalogModel): Expected;
  /** As this upstream is sent it; its answer has no more than so many tokens, where that is said. */
  toUpstream(
    model: CatalogModel,
    upstream: Upstream,
    outputTokensMax?: number,
  ): Pick<UpstreamRequest, 'body' | 'transcription'>;
  /** The stream that it asks for; null where its answer comes in one piece. */
  streamedAnswer(model: CatalogModel): StreamedAnswer | null;
  /**
   * Prices a whole answer and writes the cost into it.
   * @throws UnusableAnswer, ReportedError
   */
  finish(model: CatalogModel, answer: Buffer): FinishedAnswer;
  /** What an answer in one piece costs that had begun when its caller went away. */
  produced(model: CatalogModel): Pick<FinishedAnswer, 'price' | 'basis'>;
}
