// An answer in one piece: the cost goes into its usage, the catalog's name into `model`, and nothing else is touched.
import type { CatalogModel } from '@switchyard/contracts';
import type { Price } from '../calls/pricing.ts';
import { type Member, topLevelMembers } from './json-members.ts';
import { READ_ANSWER } from './read-answer.ts';
import { type Edit, splice } from './splice.ts';
import { ReportedError, UnusableAnswer } from './unusable-answer.ts';

export interface PricedAnswer {
  body: Buffer;
  price: Price;
  basis: 'upstream' | 'estimated';
}

/**
 * Prices a whole answer to `request` and writes its cost into it.
 * @throws UnusableAnswer when it is empty, cut short, no JSON, or has nothing in it.
 */
export function finishWholeAnswer(model: CatalogModel, request: Buffer, body: Buffer): PricedAnswer {
  const members = readMembers(body);
  refuseError(body, members);
  const read = READ_ANSWER[model.type];
  if (!read) throw new UnusableAnswer(`answers of ${model.type} models come in no one piece`);
  const { usage, price, basis, edits: ofType = [] } = read({ model, request, body, members });
  const edits: Edit[] = [...ofType];
  const missing: string[] = [];
  const put = (name: string, json: string) => {
    const member = members.get(name);
    if (member) edits.push({ start: member.valueStart, end: member.valueEnd, text: json });
    else missing.push(`"${name}":${json},`);
  };
  put('model', JSON.stringify(model.id));
  put('usage', usage);
  const open = body.indexOf('{') + 1;
  if (missing.length > 0) edits.push({ start: open, end: open, text: missing.join('') });
  return { body: splice(body, edits), price, basis };
}

/** OpenRouter and others answer 200 with an error in place of an answer. */
function refuseError(body: Buffer, members: Map<string, Member>): void {
  const member = members.get('error');
  if (!member) return;
  const error = parseMember(body, member);
  if (error !== null) throw new ReportedError(error);
}

/** What is wrong with an answer in one piece where a stream was asked for: the error that it reports, if it does. */
export function unstreamed(body: Buffer, contentType: string): UnusableAnswer {
  try {
    refuseError(body, topLevelMembers(body));
  } catch (error) {
    if (error instanceof ReportedError) return error;
  }
  return new UnusableAnswer(`the upstream did not stream: it sent ${contentType}`);
}

function parseMember(body: Buffer, { valueStart, valueEnd }: Member): unknown {
  try {
    return JSON.parse(body.toString('utf8', valueStart, valueEnd));
  } catch (cause) {
    throw new UnusableAnswer('the answer is no JSON', { cause });
  }
}

function readMembers(body: Buffer): Map<string, Member> {
  try {
    return topLevelMembers(body);
  } catch (cause) {
    throw new UnusableAnswer(
      body.length === 0 ? 'the answer is empty' : 'the answer is no whole JSON object',
      {
        cause,
      },
    );
  }
}
