// A whole answer of Anthropic: its bytes, with our model name, and the cost in its usage.
import type { CatalogModel } from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import { withCost } from '../../../answers/usage-with-cost.ts';
import type { PricedAnswer } from '../../../answers/whole-answer.ts';
import { topLevelMembers } from '../../../json/json-members.ts';
import { withMembers } from '../../../json/splice.ts';
import { UnusableAnswer } from '../../../makers/unusable-answer.ts';
import { FREE, priceTokens } from '../../../spending/pricing.ts';
import { type AnthropicUsage, estimatedUsage, isNothing, readAnthropicUsage } from './usage.ts';

interface AnthropicMessage {
  content?: unknown;
  stop_reason?: unknown;
  usage?: AnthropicUsage | null;
}

/** @throws UnusableAnswer when the answer is no message */
export function finishMessage(model: CatalogModel, request: Buffer, body: Buffer): PricedAnswer {
  const { content, stop_reason: reason, usage } = parse(body);
  if (!Array.isArray(content)) throw new UnusableAnswer('the answer has no content');
  if (content.length === 0 && isNothing(reason, usage))
    throw new UnusableAnswer('the answer has nothing in it');
  const counted = readAnthropicUsage(usage);
  const used = counted ?? estimatedUsage(request, estimateTokens(body.length));
  // As in chat, a refusal without an answer costs nothing.
  const price = content.length === 0 && reason === 'refusal' ? FREE : priceTokens(model, used);
  const shown = counted ? { ...usage } : { input_tokens: used.inputTokens, output_tokens: used.outputTokens };
  const values = [['model', JSON.stringify(model.id)] as const, ['usage', withCost(shown, price)] as const];
  return {
    body: withMembers(body, topLevelMembers(body), values),
    price,
    basis: counted ? 'upstream' : 'estimated',
  };
}

function parse(body: Buffer): AnthropicMessage {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch (cause) {
    throw new UnusableAnswer('the answer is no JSON', { cause });
  }
  throw new UnusableAnswer('the answer is no JSON object');
}
