// credits.list: all credits of an org, newest first.
import { LIST_LIMIT_MAX, type OperationRequest, type OperationResponse } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';

export async function creditsList(
  { org }: OperationRequest<'credits.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'credits.list'>> {
  await catchUp(deps);
  const found = await deps.store.ledger
    .find({ 'credit.org': org })
    .sort({ at: -1, n: -1 })
    .limit(LIST_LIMIT_MAX + 1)
    .toArray();
  const data = found.slice(0, LIST_LIMIT_MAX).flatMap(({ _id, at, credit }) =>
    credit
      ? [
          {
            id: _id,
            object: 'credit' as const,
            amount: dollarsToJson(credit.amount),
            reason: credit.reason,
            reference: credit.reference,
            key_id: credit.key,
            created_at: at.toISOString(),
          },
        ]
      : [],
  );
  return { object: 'list', data, has_more: found.length > LIST_LIMIT_MAX, next_cursor: null };
}
