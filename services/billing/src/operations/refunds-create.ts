// refunds.create: refunds a charge, in whole or in part, through an event. The answer follows when the ledger has the
// event. Refunds never exceed the charge: each has a numbered place, the ledger accepts one refund per place, and only
// up to the remaining amount.
import { publishEvent } from '@switchyard/bus';
import {
  eventIds,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  REFUNDS_PER_CHARGE_MAX,
  ServiceError,
} from '@switchyard/contracts';
import { dollarsToJson, formatDollars, parseDollars } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { answered } from '../store/answered.ts';
import type { UnnumberedRow } from '../store/documents.ts';
import { findCharge } from '../store/find-charge.ts';
import { isRefundable, leftOf, takenBackBy } from '../store/refund-rows.ts';
import { CALLER_MS_MAX } from '../when-complete.ts';

const EVENT_SOURCE = '/switchyard/billing';
/** A concurrent refund may take the place first; then the next place is tried. */
const TRIES_MAX = 5;
/** Ends before the limit of every answer does, whose error would say that nothing was made. */
const CONFIRMED_MS_MAX = CALLER_MS_MAX - 1_000;

type Ask = OperationRequest<'refunds.create'>;

/**
 * A repeated `refund_id` returns the refund that it created.
 * @throws ServiceError `charge_not_found`, `refund_exceeds_charge`; `idempotency_conflict` when `refund_id` created a
 * refund that differs; `service_unavailable` when the event may be stored,
 * and is not known to be booked; DatabaseSilent when there was no time to publish it
 */
export async function refundsCreate(
  ask: Ask,
  deps: BillingDeps,
  withinMs = CONFIRMED_MS_MAX,
): Promise<OperationResponse<'refunds.create'>> {
  let mayExist = false;
  let isOver = false;
  const refund = async () => {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      await catchUp(deps);
      const { charge, requestId } = await requireCharge(ask, deps);
      const booked = await takenBack(charge, deps);
      const left = leftOf(charge, booked);
      const made = [...booked.values()].find(({ refund }) => refund?.id === ask.refund_id);
      if (made) {
        requireSame(made, left, ask.body);
        return shown(made, charge, booked);
      }
      const amount = ask.body.amount === undefined ? left : parseDollars(ask.body.amount);
      const number = placeOf(charge, booked);
      if (amount > left || amount <= 0n || number === null) throw exceeds(charge, left, number);
      if (isOver) break; // the answer has said that no refund was made
      mayExist = true;
      await publish({ ask, charge: charge._id, requestId, number, amount }, deps);
    }
    throw unconfirmed();
  };
  try {
    return await answered(refund(), withinMs);
  } catch (error) {
    isOver = true;
    if (!mayExist || error instanceof ServiceError) throw error;
    throw unconfirmed(error);
  }
}

function unconfirmed(cause?: unknown): ServiceError {
  const message =
    'The refund could not be confirmed, and may exist. Look for it in /v1/logs before you repeat it.';
  return new ServiceError('service_unavailable', message, { cause });
}

/**
 * Edges keep an `Idempotency-Key` for a day; the id of a refund that it gives stays the same. A refund without an amount
 * leaves nothing of its charge.
 */
function requireSame(
  { cost, refund }: UnnumberedRow,
  left: bigint,
  { amount, reason, reference = null }: Ask['body'],
): void {
  const isSame = amount === undefined ? left === 0n : parseDollars(amount) === -cost;
  if (isSame && refund?.reason === reason && refund.reference === reference) return;
  const message = 'The Idempotency-Key made another refund of this charge. Use a new key.';
  throw new ServiceError('idempotency_conflict', message);
}

interface Found {
  readonly charge: UnnumberedRow;
  /** Id of the charge's line in Logs. */
  readonly requestId: string;
}

/** @throws ServiceError `charge_not_found` */
async function requireCharge({ org, body }: Ask, { store }: BillingDeps): Promise<Found> {
  const id = body.event ?? body.request_id ?? '';
  const charge = await findCharge(store, org, id);
  if (!charge || !isRefundable(charge))
    throw new ServiceError('charge_not_found', `there is no charge of ${JSON.stringify(id)}`, {
      param: body.event === undefined ? 'request_id' : 'event',
    });
  return { charge, requestId: charge.request_id ?? charge._id };
}

async function takenBack(charge: UnnumberedRow, { store }: BillingDeps): Promise<Map<string, UnnumberedRow>> {
  const rows = await store.ledger.find({ _id: { $in: takenBackBy(charge._id) } }).toArray();
  return new Map(rows.map((row) => [row._id, row]));
}

/** The first free place; null when all are taken. */
function placeOf({ _id }: UnnumberedRow, booked: ReadonlyMap<string, UnnumberedRow>): number | null {
  for (let number = 1; number <= REFUNDS_PER_CHARGE_MAX; number += 1)
    if (!booked.has(eventIds.refund(_id, number))) return number;
  return null;
}

function exceeds({ cost }: UnnumberedRow, left: bigint, number: number | null): ServiceError {
  const [charged, rest] = [formatDollars(cost), formatDollars(left)];
  const message =
    number === null
      ? `the charge has ${REFUNDS_PER_CHARGE_MAX} refunds, and can have no more`
      : `$${charged} was charged, and $${rest} of it is left`;
  return new ServiceError('refund_exceeds_charge', message, {
    param: 'amount',
    details: { charged, left: rest },
  });
}

interface NewRefund {
  readonly ask: Ask;
  readonly charge: string;
  readonly requestId: string;
  readonly number: number;
  readonly amount: bigint;
}

async function publish(
  { ask, charge, requestId, number, amount }: NewRefund,
  deps: BillingDeps,
): Promise<void> {
  const { org, key_id, refund_id, body } = ask;
  const event = makeEvent({
    name: 'charge.refunded',
    id: eventIds.refund(charge, number),
    source: EVENT_SOURCE,
    time: new Date(deps.clock.now()),
    data: {
      ...{ refund_id, org, key_id, charge, request_id: requestId, number },
      ...{ amount_nano: amount.toString(), reason: body.reason, reference: body.reference ?? null },
    },
  });
  await publishEvent(deps.bus, event);
}

function shown(
  { _id, at, cost, refund }: UnnumberedRow,
  charge: UnnumberedRow,
  booked: ReadonlyMap<string, UnnumberedRow>,
): OperationResponse<'refunds.create'> {
  if (!refund) throw new Error(`${_id} is no refund made by hand`);
  return {
    ...{ id: refund.id, object: 'refund', event: _id, charge: charge._id },
    amount: dollarsToJson(-cost),
    left: dollarsToJson(leftOf(charge, booked)),
    ...{ reason: refund.reason, reference: refund.reference, key_id: refund.key },
    created_at: at.toISOString(),
  };
}
