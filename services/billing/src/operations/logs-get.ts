// logs.get: one line of the log. Another org's is as unknown as one that never was.
import { type OperationRequest, type OperationResponse, ServiceError } from '@switchyard/contracts';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { toLogEntry } from './log-entry.ts';

/** @throws ServiceError `log_not_found` */
export async function logsGet(
  { org, id }: OperationRequest<'logs.get'>,
  deps: BillingDeps,
): Promise<OperationResponse<'logs.get'>> {
  await catchUp(deps);
  const row = await deps.store.logs.findOne({ _id: id, org });
  if (!row) throw new ServiceError('log_not_found', `there is no log of ${JSON.stringify(id)}`);
  return toLogEntry(row);
}
