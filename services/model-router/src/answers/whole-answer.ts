// An answer in one piece: sets the cost in its usage and the catalog's name in `model`, and changes nothing else.
import type { CatalogModel } from '@switchyard/contracts';
import { type Member, parseMember, topLevelMembers } from '../json/json-members.ts';
import { withMembers } from '../json/splice.ts';
import { ReportedError, readWhole, UnusableAnswer } from '../makers/unusable-answer.ts';
import type { Price } from '../spending/pricing.ts';
import { READ_ANSWER } from './read-answer.ts';

export interface PricedAnswer {
  body: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

/**
 * Prices a whole answer to `request` and writes the cost into it.
 * @throws UnusableAnswer when the answer is empty, cut short, not JSON, or has no content.
 */
export function finishWholeAnswer(model: CatalogModel, request: Buffer, body: Buffer): PricedAnswer {
  const members = readWhole(body, topLevelMembers);
  refuseError(body, members);
  const read = READ_ANSWER[model.type];
  if (!read) throw new UnusableAnswer(`${model.type} models have no single-body answers`);
  const { usage, price, basis, edits } = read({ model, request, body, members });
  const values = [['model', JSON.stringify(model.id)] as const, ['usage', usage] as const];
  return { body: withMembers(body, members, values, edits), price, basis };
}

/** OpenRouter and others answer 200 with an error instead of an answer. */
function refuseError(body: Buffer, members: Map<string, Member>): void {
  const member = members.get('error');
  if (!member) return;
  let error: unknown;
  try {
    error = parseMember(body, member);
  } catch (cause) {
    throw new UnusableAnswer('the answer is no JSON', { cause });
  }
  if (error !== null) throw new ReportedError(error);
}

/** The error for a single-body answer to a stream request; uses the error that the body reports, if any. */
export function unstreamed(body: Buffer, contentType: string): UnusableAnswer {
  try {
    refuseError(body, topLevelMembers(body));
  } catch (error) {
    if (error instanceof ReportedError) return error;
  }
  return new UnusableAnswer(`the upstream did not stream: it sent ${contentType}`);
}
