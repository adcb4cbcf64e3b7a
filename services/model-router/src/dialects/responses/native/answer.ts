// A whole answer of OpenAI's Responses.
import type { CatalogModel } from '@switchyard/contracts';
import type { InputTokens } from '../../../answers/event-stream.ts';
import type { PricedAnswer } from '../../../answers/whole-answer.ts';
import { reportedError, UnusableAnswer } from '../../../makers/unusable-answer.ts';
import { parseAnswer, priceAnswer } from '../../passed-answer.ts';
import { emptiness, type OpenAiResponse, readResponsesUsage, usageShown } from './response.ts';

/** @throws UnusableAnswer when the answer is no response; ReportedError when it failed */
export function finishResponse(model: CatalogModel, body: Buffer, inputTokens: InputTokens): PricedAnswer {
  const response: OpenAiResponse = parseAnswer(body);
  const { status, output, error, usage } = response;
  if (error || status === 'failed') throw reportedError(error ?? 'the response failed');
  if (!Array.isArray(output)) throw new UnusableAnswer('the answer has no output');
  if (status !== undefined && status !== 'completed' && status !== 'incomplete')
    throw new UnusableAnswer(`the response is ${String(status)}`);
  const empty = emptiness(response);
  if (empty === 'nothing') throw new UnusableAnswer('the answer has nothing in it');
  return priceAnswer(model, body, inputTokens, {
    counted: readResponsesUsage(usage),
    refused: empty === 'refusal',
    shown: (used) => usageShown(usage, used),
  });
}
