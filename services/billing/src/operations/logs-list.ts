// logs.list: the log of an org, newest first, page by page.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { readLogPage } from '../store/log-page.ts';
import { toLogEntry } from './log-entry.ts';

export async function logsList(
  { org, query }: OperationRequest<'logs.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'logs.list'>> {
  await catchUp(deps);
  const { rows, next } = await readLogPage(deps.store, org, query);
  return { object: 'list', data: rows.map(toLogEntry), has_more: next !== null, next_cursor: next };
}
