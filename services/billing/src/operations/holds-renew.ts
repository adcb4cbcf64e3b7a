// holds.renew: an instance says again what it holds. What an earlier owner of the partition granted is learnt from it.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { BillingDeps } from '../register.ts';

export async function holdsRenew(
  { holds }: OperationRequest<'holds.renew'>,
  { accounts }: BillingDeps,
): Promise<OperationResponse<'holds.renew'>> {
  for (const { org, key_id, call, amount_nano, lasting } of holds) {
    if (accounts.desk.renewed(call)) continue; // what is held does not end because a budget cannot be read just now
    const limits = await accounts.limitsOf(org, key_id);
    if (limits.length > 0)
      accounts.desk.renew({
        call,
        org,
        limits,
        amount: BigInt(amount_nano),
        exact: false,
        lasting: lasting === true,
      });
  }
  return {};
}
