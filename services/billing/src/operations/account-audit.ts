// account.audit: the last day of an org from the ledger, the logs and usage, and their differences.
import { type OperationRequest, type OperationResponse, ServiceError } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';

/** @throws ServiceError `service_unavailable` when the org has too many rows to check between two batches */
export async function accountAudit(
  { org }: OperationRequest<'account.audit'>,
  deps: BillingDeps,
): Promise<OperationResponse<'account.audit'>> {
  await catchUp(deps);
  const { checkedAt, window, drift } = await deps.watch.org(org);
  if (!window)
    throw new ServiceError(
      'service_unavailable',
      'Too many rows to check between two batches. Run npm run audit.',
    );
  const answers = deps.watch.answers.of(org);
  return {
    object: 'account_audit',
    org,
    checked_at: checkedAt.toISOString(),
    from: window.from.toISOString(),
    ledger: dollarsToJson(window.ledger),
    logs: dollarsToJson(window.logs),
    usage: dollarsToJson(window.usage),
    statements_drift: dollarsToJson(window.statementsAhead),
    drift: dollarsToJson(drift),
    gapless: deps.watch.state.gapless,
    answers_compared: answers.compared,
    answers_wrong: answers.wrong,
  };
}
