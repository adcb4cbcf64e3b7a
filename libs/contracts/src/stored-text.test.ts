// Text that the database would change is refused: the audit compares what is stored with the event.
import { expect, test } from 'vitest';
import { createCreditRequest } from './accounts.ts';
import { tags } from './caller-context.ts';
import { createRefundRequest } from './refunds.ts';

const HALF = '\ud800';
const WHOLE = '😀';

test.each([
  ['a tag', (text: string) => tags.safeParse({ team: text })],
  ['the reason of a credit', (text: string) => createCreditRequest.safeParse({ amount: 1, reason: text })],
  [
    'the reference of a credit',
    (text: string) => createCreditRequest.safeParse({ amount: 1, reason: 'a', reference: text }),
  ],
  [
    'the reason of a refund',
    (text: string) => createRefundRequest.safeParse({ request_id: 'req_a', reason: text }),
  ],
  [
    'the reference of a refund',
    (text: string) => createRefundRequest.safeParse({ request_id: 'req_a', reason: 'a', reference: text }),
  ],
])('half of a surrogate pair is refused in %s, a whole one is not', (_, parse) => {
  expect(parse(WHOLE).success).toBe(true);
  expect(parse(`x${HALF}`).error?.issues[0]?.message).toMatch(/half of a surrogate pair/);
});
