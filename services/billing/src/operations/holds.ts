// holds.take, holds.settle, holds.renew: the holds of limited calls.
import type { OperationContext } from '@switchyard/bus';
import type { GrantedHold, OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { HoldRequest } from '../accounts/hold-desk.ts';
import type { BillingDeps } from '../register.ts';

/**
 * Holds the maximum cost of a limited call. Waits while other holds may shrink.
 * @throws ServiceError `insufficient_funds` or `budget_exceeded`; `service_unavailable` while the budgets are read
 */
export async function holdsTake(
  { org, key_id, call, amount_nano, exact }: OperationRequest<'holds.take'>,
  { accounts }: BillingDeps,
  { signal }: OperationContext,
): Promise<OperationResponse<'holds.take'>> {
  const limits = await accounts.limitsOf(org, key_id);
  return takeHold(accounts, { call, org, limits, amount: BigInt(amount_nano), exact }, signal);
}

export async function takeHold(
  { desk }: Pick<BillingDeps['accounts'], 'desk'>,
  request: HoldRequest,
  signal: AbortSignal,
): Promise<GrantedHold> {
  if (request.limits.length === 0) return { granted_nano: null, capped: false };
  const { granted, capped } = await desk.take(request, signal);
  return { granted_nano: granted.toString(), capped };
}

/** Ends the hold of a call and frees the part that the call did not cost. Idempotent. */
export async function holdsSettle(
  { call, cost_nano }: OperationRequest<'holds.settle'>,
  { accounts }: BillingDeps,
): Promise<OperationResponse<'holds.settle'>> {
  accounts.desk.settle(call, BigInt(cost_nano));
  return {};
}

/** Renews the holds of an instance. A new owner of the partition learns earlier holds from it. */
export async function holdsRenew(
  { holds }: OperationRequest<'holds.renew'>,
  { accounts }: BillingDeps,
): Promise<OperationResponse<'holds.renew'>> {
  // Needs no budget: a hold survives while budgets cannot be read.
  const unknown = holds.filter(({ call }) => !accounts.desk.renewed(call));
  const holdOf = async ({ org, key_id, call, amount_nano }: (typeof holds)[number]): Promise<HoldRequest> => {
    const limits = await accounts.limitsOf(org, key_id);
    return { call, org, limits, amount: BigInt(amount_nano), exact: false };
  };
  await accounts.restore(unknown.map(holdOf));
  return {};
}
