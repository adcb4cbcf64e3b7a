// statements.list, statements.get, statements.events: an org's months, one of them, and the rows behind one of its lines.
import {
  LIST_LIMIT_DEFAULT,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { monthOf } from '../statements/months.ts';
import { readStatement, readSummaries } from '../statements/read-statement.ts';
import { answered } from '../store/answered.ts';
import { readQuantities } from '../store/quantities.ts';

export async function statementsList(
  { org }: OperationRequest<'statements.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.list'>> {
  await catchUp(deps);
  const { accounts, store, clock } = deps;
  const data = await accounts.still.run(() => readSummaries(store, org, clock.now()));
  return { object: 'list', data: data.reverse(), has_more: false, next_cursor: null };
}

/** @throws ServiceError `invalid_request` for a month that has not begun. */
export async function statementsGet(
  { org, month }: OperationRequest<'statements.get'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.get'>> {
  const { accounts, store, clock } = deps;
  if (month > monthOf(clock.now()))
    throw new ServiceError('invalid_request', 'month: has not begun', { param: 'month' });
  await catchUp(deps);
  // Together, or a row that is booked in between would be in one figure and not in the other.
  return accounts.still.run(() => readStatement(store, org, month, clock.now()));
}

export async function statementsEvents(
  { org, month, line, query }: OperationRequest<'statements.events'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.events'>> {
  await catchUp(deps);
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const after = query.cursor === undefined ? {} : { n: { $gt: BigInt(query.cursor) } };
  const rows = await answered(
    deps.store.ledger
      .find({ org, month, line, ...after })
      .sort({ n: 1 })
      .limit(limit + 1)
      .toArray(),
  );
  const page = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  return {
    object: 'list',
    data: page.map(({ _id, n, kind, at, key, calls, cost, quantities }) => ({
      ...{ event: _id, number: Number(n), kind, at: at.toISOString(), key_id: key, calls: Number(calls) },
      ...{ quantities: readQuantities(quantities), amount: dollarsToJson(cost) },
    })),
    has_more: hasMore,
    next_cursor: hasMore ? String(page.at(-1)?.n) : null,
  };
}
