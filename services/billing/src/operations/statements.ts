// statements.list, statements.get, statements.events: the months of an org, one month, and the rows of one line.
import {
  afterOf,
  invalidParam,
  type ListQuery,
  limitOf,
  type OperationRequest,
  type OperationResponse,
  pageFrom,
  pageOf,
  unknownCursor,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import { namesEver } from '../partitions/partition.ts';
import type { BillingDeps } from '../register.ts';
import { monthOf } from '../statements/months.ts';
import { readStatement, readSummaries } from '../statements/read-statement.ts';
import { answered } from '../store/answered.ts';
import type { LedgerRow } from '../store/documents.ts';
import { readQuantities } from '../store/quantities.ts';
import { whenComplete } from '../when-complete.ts';

export async function statementsList(
  { org, query }: OperationRequest<'statements.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.list'>> {
  await catchUp(deps);
  await batchEnded(deps);
  const { store, clock } = deps;
  const data = await readSummaries(store, org, clock.now());
  return pageFrom(data.reverse(), query, ({ month }) => month);
}

/** @throws ServiceError `invalid_request` for a month that has not begun */
export async function statementsGet(
  { org, month }: OperationRequest<'statements.get'>,
  deps: BillingDeps,
  signal: AbortSignal,
): Promise<OperationResponse<'statements.get'>> {
  const { store, clock } = deps;
  if (month > monthOf(clock.now())) throw invalidParam('month', 'has not begun');
  await catchUp(deps);
  await batchEnded(deps);
  return readStatement(store, org, month, clock.now(), signal);
}

/**
 * Batches from now on book nothing into a month that has closed. A statement is read beside them: an org with many
 * computers has several 100,000 lines a month, and booking must not wait for them.
 */
function batchEnded(deps: BillingDeps): Promise<void> {
  return whenComplete(deps, async () => {});
}

export async function statementsEvents(
  { org, month, line, query }: OperationRequest<'statements.events'>,
  deps: BillingDeps,
): Promise<OperationResponse<'statements.events'>> {
  await catchUp(deps);
  const limit = limitOf(query);
  const after = await positionOf(org, query, deps);
  const rows = await rowsAfter({ org, month, line }, after, limit + 1, deps);
  const page = rows.slice(0, limit).map(({ _id, n, kind, at, key, calls, cost, quantities }) => ({
    ...{ event: _id, number: Number(n), kind, at: at.toISOString(), key_id: key, calls: Number(calls) },
    ...{ quantities: readQuantities(quantities), amount: dollarsToJson(cost) },
  }));
  return pageOf(page, rows.length > limit, ({ event }) => event);
}

type Position = Pick<LedgerRow, 'p' | 'n'>;

/**
 * Position of the row after which the page begins; null: the first page.
 * @throws ServiceError `invalid_request` when the org's ledger has no such row
 */
async function positionOf(org: string, query: ListQuery, { store }: BillingDeps): Promise<Position | null> {
  const id = afterOf(query);
  if (id === undefined) return null;
  const row = await store.ledger.findOne({ _id: id, org }, { projection: { p: 1, n: 1 } });
  if (!row) throw unknownCursor();
  return row;
}

/**
 * The rows of a line in the order of their numbers. For an org with several partitions, one partition after the other.
 */
async function rowsAfter(
  of: { org: string; month: string; line: string },
  position: Position | null,
  count: number,
  { store, partition }: BillingDeps,
): Promise<LedgerRow[]> {
  const names = namesEver(partition.layout);
  const first = position === null ? 0 : names.indexOf(position.p);
  const rows: LedgerRow[] = [];
  for (const p of names.slice(first)) {
    if (rows.length === count) break;
    const after = p === position?.p ? { n: { $gt: position.n } } : {};
    const found = store.ledger
      .find({ ...of, p, ...after })
      .sort({ n: 1 })
      .limit(count - rows.length);
    rows.push(...(await answered(found.toArray())));
  }
  return rows;
}
