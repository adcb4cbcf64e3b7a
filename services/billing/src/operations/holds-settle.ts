// holds.settle: a call has ended; what it held and did not cost is free again. Idempotent.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { BillingDeps } from '../register.ts';

export async function holdsSettle(
  { call, event, cost_nano }: OperationRequest<'holds.settle'>,
  { accounts }: BillingDeps,
): Promise<OperationResponse<'holds.settle'>> {
  accounts.desk.settle(call, event, BigInt(cost_nano));
  return {};
}
