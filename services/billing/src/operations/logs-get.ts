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
  if (!row) throw await notFound(deps, org, id);
  return toLogEntry(row);
}

/** What was removed for its age is still in the ledger, where it was charged for. */
async function notFound({ store }: BillingDeps, org: string, id: string): Promise<ServiceError> {
  const name = JSON.stringify(id);
  const charge = await store.ledger.findOne({ _id: id, org }, { projection: { at: 1 } });
  const message = charge
    ? `the log of ${name} was removed for its age; its charge stands in the ledger, and in Usage at ${charge.at.toISOString()}`
    : `there is no log of ${name}`;
  return new ServiceError('log_not_found', message);
}
