import type { Statement } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { statementCsv } from './statement-text.ts';

const statement: Statement = {
  ...{ object: 'statement', month: '2026-11', status: 'open', closes_at: '2026-12-03T00:00:00.000Z' },
  ...{ org: 'org_a', opening_balance: 0.5, credits: 3, charges: 0.25, refunds: -0.05, total: 0.2 },
  closing_balance: 3.3,
  lines: [
    {
      ...{
        id: 'line_1',
        kind: 'usage',
        type: 'language',
        model: 'acme/chat',
        computer_id: null,
        late: false,
      },
      ...{ calls: 2, quantities: { input_tokens: 5 }, amount: 0.25 },
      rates: [{ unit: 'input_token', rate: '0.05' }],
    },
    {
      ...{
        id: 'line_2',
        kind: 'refund',
        type: 'language',
        model: 'acme/chat',
        computer_id: null,
        late: false,
      },
      ...{ calls: 0, quantities: {}, rates: [], amount: -0.05 },
    },
  ],
  granted: [
    {
      ...{ id: 'crd_1', object: 'credit', amount: 3, reason: 'payment, by bank', reference: 'INV-1' },
      ...{ key_id: 'key_a', created_at: '2026-11-02T00:00:00.000Z' },
    },
  ],
};

test('a statement as CSV has a credit’s reason and reference in columns of their own, and adds up', () => {
  expect(statementCsv(statement).split('\r\n')).toEqual([
    'line,kind,type,model,computer_id,late,calls,quantities,rates,amount,reason,reference',
    'opening_balance,opening_balance,,,,,,,,0.5,,',
    'crd_1,credit,,,,,,,,3,"payment, by bank",INV-1',
    'line_1,usage,language,acme/chat,,false,2,"{""input_tokens"":5}",input_token 0.05,-0.25,,',
    'line_2,refund,language,acme/chat,,false,0,{},,0.05,,',
    'closing_balance,closing_balance,,,,,,,,3.3,,',
    '',
  ]);
});
