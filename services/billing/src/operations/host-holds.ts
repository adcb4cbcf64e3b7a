// host-holds.take, .settle and .renew: holds of computers' minutes. A host names only the minute; its payer and its
// price are those of the placement, which only control writes.
import type { OperationContext } from '@switchyard/bus';
import {
  type ComputerPlacement,
  computerOfMinute,
  minuteLines,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';
import type { HoldRequest } from '../accounts/hold-desk.ts';
import type { BillingDeps } from '../register.ts';
import { takeHold } from './holds.ts';

interface Minute {
  readonly host: string;
  readonly org: string;
  /** Id of its event. */
  readonly call: string;
}

type Deps = Pick<BillingDeps, 'accounts' | 'records'>;

/** @throws ServiceError as `holdsTake`, and `permission_denied` for a computer that is not placed on the host */
export async function hostHoldsTake(
  minute: OperationRequest<'host-holds.take'>,
  deps: Deps,
  { signal }: OperationContext,
): Promise<OperationResponse<'host-holds.take'>> {
  return takeHold(deps.accounts, await holdOf(minute, await requirePlacement(minute, deps), deps), signal);
}

/** Idempotent. @throws ServiceError `permission_denied` */
export async function hostHoldsSettle(
  { spent, ...minute }: OperationRequest<'host-holds.settle'>,
  deps: Deps,
): Promise<OperationResponse<'host-holds.settle'>> {
  const placement = await requirePlacement(minute, deps);
  deps.accounts.desk.settle(minute.call, spent ? priceOf(placement) : 0n);
  return {};
}

/** Leaves out the minutes of computers that are not placed on the host. */
export async function hostHoldsRenew(
  { host, holds }: OperationRequest<'host-holds.renew'>,
  deps: Deps,
): Promise<OperationResponse<'host-holds.renew'>> {
  const unknown = holds.map(async (hold) => {
    const minute = { host, ...hold };
    const placement = await placementOf(minute, deps);
    return !placement || deps.accounts.desk.renewed(minute.call) ? null : holdOf(minute, placement, deps);
  });
  await deps.accounts.restore(unknown);
  return {};
}

async function placementOf(
  { host, org, call }: Minute,
  { records }: Deps,
): Promise<ComputerPlacement | null> {
  const computer = computerOfMinute(call);
  const placement = computer && (await records.placement(org, computer));
  return placement && placement.host === host ? placement : null;
}

async function requirePlacement(minute: Minute, deps: Deps): Promise<ComputerPlacement> {
  const placement = await placementOf(minute, deps);
  if (!placement)
    throw new ServiceError('permission_denied', 'This computer is not placed on the host that asks.');
  return placement;
}

async function holdOf(
  { call }: Minute,
  placement: ComputerPlacement,
  { accounts }: Deps,
): Promise<HoldRequest> {
  const { id, org, key_id } = placement;
  const limits = await accounts.limitsOf(org, key_id);
  return { call, org, limits, amount: priceOf(placement), exact: true, computer: id };
}

function priceOf(placement: ComputerPlacement): bigint {
  return charge(minuteLines(placement));
}
