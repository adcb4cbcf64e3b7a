// A call's request as its attempts see it, independent of the endpoint.
import type { CatalogModel, ServiceError, Upstream } from '@switchyard/contracts';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import type { UpstreamRequest } from '../makers/maker.ts';
import type { Expected } from '../spending/expected-cost.ts';
import type { Price } from '../spending/pricing.ts';

export interface FinishedAnswer {
  contentType: string;
  body: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

export interface ModelRequest {
  /** Why the model cannot serve it; null when it can. */
  refusalOf(model: CatalogModel): ServiceError | null;
  /** Maximum cost; used only when a limit applies to the caller. */
  expected(model: CatalogModel): Expected;
  /** The request for this upstream; the answer is limited to the output tokens, if given. */
  toUpstream(
    model: CatalogModel,
    upstream: Upstream,
    outputTokensMax?: number,
  ): Pick<UpstreamRequest, 'body' | 'transcription' | 'native'>;
  /** The stream that the request asks for; null when its answer is a single body. */
  streamedAnswer(model: CatalogModel, upstream: Upstream): StreamedAnswer | null;
  /**
   * Prices a whole answer and writes the cost into it.
   * @throws UnusableAnswer, ReportedError
   */
  finish(model: CatalogModel, answer: Buffer, upstream: Upstream): FinishedAnswer;
  /** Estimated cost when the caller leaves after an upstream accepted the request and before the answer. */
  accepted(model: CatalogModel): Price;
}
