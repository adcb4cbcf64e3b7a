// A whole answer of Anthropic.
import type { CatalogModel } from '@switchyard/contracts';
import type { InputTokens } from '../../../answers/event-stream.ts';
import type { PricedAnswer } from '../../../answers/whole-answer.ts';
import { ReportedError, UnusableAnswer } from '../../../makers/unusable-answer.ts';
import type { TokenUsage } from '../../../spending/pricing.ts';
import { parseAnswer, priceAnswer } from '../../passed-answer.ts';
import { type AnthropicUsage, isNothing, readAnthropicUsage } from './usage.ts';

interface AnthropicMessage {
  content?: unknown;
  error?: unknown;
  stop_reason?: unknown;
  usage?: AnthropicUsage | null;
}

/** @throws UnusableAnswer when the answer is no message; ReportedError when it is an error */
export function finishMessage(model: CatalogModel, body: Buffer, inputTokens: InputTokens): PricedAnswer {
  const { content, error, stop_reason: reason, usage }: AnthropicMessage = parseAnswer(body);
  if (error) throw new ReportedError(error);
  if (!Array.isArray(content)) throw new UnusableAnswer('the answer has no content');
  if (content.length === 0 && isNothing(reason, usage))
    throw new UnusableAnswer('the answer has nothing in it');
  const counted = readAnthropicUsage(usage);
  return priceAnswer(model, body, inputTokens, {
    counted,
    refused: content.length === 0 && reason === 'refusal',
    shown: (used) => (counted ? { ...usage } : estimatedCounts(used)),
  });
}

function estimatedCounts({ inputTokens, outputTokens }: TokenUsage): object {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
  };
}
