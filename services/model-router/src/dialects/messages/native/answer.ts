// A whole answer of Anthropic.
import type { CatalogModel } from '@switchyard/contracts';
import type { PricedAnswer } from '../../../answers/whole-answer.ts';
import { UnusableAnswer } from '../../../makers/unusable-answer.ts';
import { parseAnswer, priceAnswer } from '../../passed-answer.ts';
import { type AnthropicUsage, isNothing, readAnthropicUsage } from './usage.ts';

interface AnthropicMessage {
  content?: unknown;
  stop_reason?: unknown;
  usage?: AnthropicUsage | null;
}

/** @throws UnusableAnswer when the answer is no message */
export function finishMessage(model: CatalogModel, request: Buffer, body: Buffer): PricedAnswer {
  const { content, stop_reason: reason, usage }: AnthropicMessage = parseAnswer(body);
  if (!Array.isArray(content)) throw new UnusableAnswer('the answer has no content');
  if (content.length === 0 && isNothing(reason, usage))
    throw new UnusableAnswer('the answer has nothing in it');
  const counted = readAnthropicUsage(usage);
  return priceAnswer(model, request, body, {
    counted,
    refused: content.length === 0 && reason === 'refusal',
    shown: (used) =>
      counted ? { ...usage } : { input_tokens: used.inputTokens, output_tokens: used.outputTokens },
  });
}
