// An answer in one piece: the cost goes into its usage, the catalog's name into `model`, and nothing else is touched.
import type { CatalogModel } from '@switchyard/contracts';
import { estimateInputTokens, type Price, priceTokens, readUsage } from '../calls/pricing.ts';
import { topLevelMembers } from './json-members.ts';
import { type Edit, splice } from './splice.ts';
import { usageWithCost } from './usage-with-cost.ts';

/** The upstream said 200 and gave nothing that can be used. */
export class UnusableAnswer extends Error {}

export interface PricedAnswer {
  body: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

/** What a whole answer of each type must have to be one. */
const ANSWER_MEMBER = { language: 'choices', embedding: 'data' } as const;

/**
 * Prices a whole answer and writes its cost into it.
 * @throws UnusableAnswer when it is empty, cut short, no JSON, or has nothing in it.
 */
export function finishWholeAnswer(model: CatalogModel, requestBytes: number, body: Buffer): PricedAnswer {
  const members = readMembers(body);
  const needed = ANSWER_MEMBER[model.type as keyof typeof ANSWER_MEMBER];
  const content = members.get(needed);
  if (!content || isEmptyList(body, content.valueStart, content.valueEnd))
    throw new UnusableAnswer(`the answer has no ${needed}`);
  const usage = members.get('usage');
  const given: unknown = usage
    ? JSON.parse(body.toString('utf8', usage.valueStart, usage.valueEnd))
    : undefined;
  const counted = readUsage(given);
  const price = priceTokens(
    model,
    counted ?? {
      inputTokens: estimateInputTokens(requestBytes),
      cachedInputTokens: 0,
      outputTokens:
        model.type === 'embedding' ? 0 : estimateInputTokens(content.valueEnd - content.valueStart),
    },
  );
  const text = usageWithCost(counted ? given : null, price);
  const edits: Edit[] = [];
  if (usage) edits.push({ start: usage.valueStart, end: usage.valueEnd, text });
  const named = members.get('model');
  if (named) edits.push({ start: named.valueStart, end: named.valueEnd, text: JSON.stringify(model.id) });
  const open = body.indexOf('{') + 1;
  const missing = [
    ...(named ? [] : [`"model":${JSON.stringify(model.id)},`]),
    ...(usage ? [] : [`"usage":${text},`]),
  ];
  if (missing.length > 0) edits.push({ start: open, end: open, text: missing.join('') });
  return { body: splice(body, edits), price, basis: counted ? 'upstream' : 'estimated' };
}

function readMembers(body: Buffer) {
  try {
    return topLevelMembers(body);
  } catch (cause) {
    throw new UnusableAnswer(
      body.length === 0 ? 'the answer is empty' : 'the answer is no whole JSON object',
      { cause },
    );
  }
}

function isEmptyList(body: Buffer, start: number, end: number): boolean {
  return end - start < 64 && /^(\[\s*\]|null)$/.test(body.toString('latin1', start, end));
}
