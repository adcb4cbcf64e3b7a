// statements.list, statements.get, statements.events: the months of an org, one month, and the rows of one line.
import {
  LIST_LIMIT_DEFAULT,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import { namesEver } from '../partitions/partition.ts';
import type { BillingDeps } from '../register.ts';
import { monthOf } from '../statements/months.ts';
import { readStatement, readSummaries } from '../statements/read-statement.ts';
import { answered } from '../store/answered.ts';
import type { LedgerRow } from '../store/documents.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import { readQuantities } from '../store/quantities.ts';
import { whenComplete } from '../when-complete.ts';

export async function statementsList(
  { org }: OperationRequest<'statements.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.list'>> {
  await catchUp(deps);
  const { store, clock } = deps;
  const data = await whenComplete(deps, () => readSummaries(store, org, clock.now()));
  return { object: 'list', data: data.reverse(), has_more: false, next_cursor: null };
}

/** @throws ServiceError `invalid_request` for a month that has not begun */
export async function statementsGet(
  { org, month }: OperationRequest<'statements.get'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.get'>> {
  const { store, clock } = deps;
  if (month > monthOf(clock.now()))
    throw new ServiceError('invalid_request', 'month: has not begun', { param: 'month' });
  await catchUp(deps);
  // One read between two batches, so that every figure includes the same rows.
  return whenComplete(deps, () => readStatement(store, org, month, clock.now()));
}

export async function statementsEvents(
  { org, month, line, query }: OperationRequest<'statements.events'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.events'>> {
  await catchUp(deps);
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const rows = await rowsAfter({ org, month, line }, query.cursor, limit + 1, deps);
  const page = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  return {
    object: 'list',
    data: page.map(({ _id, n, kind, at, key, calls, cost, quantities }) => ({
      ...{ event: _id, number: Number(n), kind, at: at.toISOString(), key_id: key, calls: Number(calls) },
      ...{ quantities: readQuantities(quantities), amount: dollarsToJson(cost) },
    })),
    has_more: hasMore,
    next_cursor: hasMore ? cursorOf(page.at(-1)) : null,
  };
}

/**
 * The rows of a line in the order of their numbers. For an org with several partitions, one partition after the other.
 */
async function rowsAfter(
  of: { org: string; month: string; line: string },
  cursor: string | undefined,
  count: number,
  { store, partition }: BillingDeps,
): Promise<LedgerRow[]> {
  const [index, n] = readCursor(cursor);
  const rows: LedgerRow[] = [];
  for (const [i, p] of namesEver(partition.layout).entries()) {
    if (i < index || rows.length === count) continue;
    const after = i === index ? { n: { $gt: n } } : {};
    const found = store.ledger
      .find({ ...of, p, ...after })
      .sort({ n: 1 })
      .limit(count - rows.length);
    rows.push(...(await answered(found.toArray())));
  }
  return rows;
}

/** Cursor of a page: the number of its last row, prefixed with the partition except for the first one. */
function cursorOf(last: LedgerRow | undefined): string | null {
  if (!last) return null;
  return last.p === FIRST_PARTITION ? `${last.n}` : `${last.p.slice(1)}.${last.n}`;
}

function readCursor(cursor = '0'): [partition: number, n: bigint] {
  const [n = '0', partition = '0'] = cursor.split('.').reverse();
  return [Number(partition), BigInt(n)];
}
