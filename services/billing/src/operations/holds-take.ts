// holds.take: holds what a call may cost where something limits it; waits while others hold what they may not need.
import type { OperationContext } from '@switchyard/bus';
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { BillingDeps } from '../register.ts';

/** @throws ServiceError `insufficient_funds` or `budget_exceeded`; `service_unavailable` while the budgets are read. */
export async function holdsTake(
  { org, key_id, call, amount_nano, exact, lasting }: OperationRequest<'holds.take'>,
  { accounts }: BillingDeps,
  { signal }: OperationContext,
): Promise<OperationResponse<'holds.take'>> {
  const limits = await accounts.limitsOf(org, key_id);
  if (limits.length === 0) return { granted_nano: null, capped: false };
  const { granted, capped } = await accounts.desk.take(
    { call, org, limits, amount: BigInt(amount_nano), exact, lasting: lasting === true },
    signal,
  );
  return { granted_nano: granted.toString(), capped };
}
