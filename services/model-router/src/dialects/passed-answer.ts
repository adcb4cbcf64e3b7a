// A whole answer in a maker's own dialect: its bytes, with our model name, and the cost in its usage.
import type { CatalogModel } from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import type { InputTokens } from '../answers/event-stream.ts';
import { withCost } from '../answers/usage-with-cost.ts';
import type { PricedAnswer } from '../answers/whole-answer.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import { topLevelMembers } from '../json/json-members.ts';
import { withMembers } from '../json/splice.ts';
import { readWhole, UnusableAnswer } from '../makers/unusable-answer.ts';
import { FREE, priceTokens, type TokenUsage } from '../spending/pricing.ts';

interface CountedAnswer {
  /** The maker's count; null when there is none that can be charged. */
  counted: TokenUsage | null;
  /** A refusal without an answer, which costs nothing as in chat. */
  refused: boolean;
  /** The usage to show, without the cost. */
  shown(used: TokenUsage): object;
}

export function priceAnswer(
  model: CatalogModel,
  body: Buffer,
  inputTokens: InputTokens,
  { counted, refused, shown }: CountedAnswer,
): PricedAnswer {
  const used = counted ?? {
    inputTokens: inputTokens(),
    cachedInputTokens: 0,
    outputTokens: estimateTokens(body.length),
  };
  const price = refused ? FREE : priceTokens(model, used);
  const values = [
    ['model', JSON.stringify(model.id)] as const,
    ['usage', withCost({ ...shown(used) }, price)] as const,
  ];
  return {
    body: withMembers(body, topLevelMembers(body), values),
    price,
    basis: counted ? 'upstream' : 'estimated',
  };
}

/** @throws UnusableAnswer when the answer is no JSON object */
export function parseAnswer(body: Buffer): object {
  const answer = readWhole(body, (whole): unknown => JSON.parse(whole.toString('utf8')));
  if (isJsonObject(answer)) return answer;
  throw new UnusableAnswer('the answer is no JSON object');
}
