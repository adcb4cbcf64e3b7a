// credits.create, credits.list: the credits of an org.
import { publishEvent } from '@switchyard/bus';
import {
  eventIds,
  makeEvent,
  newId,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  ServiceError,
} from '@switchyard/contracts';
import { dollarsToJson, parseDollars } from '@switchyard/money';
import { withTimeout } from '@switchyard/service';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { creditOf } from '../statements/read-statement.ts';
import { readPage } from '../store/page.ts';

const EVENT_SOURCE = '/switchyard/billing';
/** Ends before the limit of every answer does, whose error would say that nothing was made. */
const BOOKED_MS_MAX = 5_000;

/**
 * Grants credits through an event. The answer follows when the ledger has the event, or when it is late.
 * @throws ServiceError `service_unavailable` when the stream does not confirm the event: it may be granted all the same
 */
export async function creditsCreate(
  { org, key_id, body }: OperationRequest<'credits.create'>,
  deps: BillingDeps,
  bookedWithinMs = BOOKED_MS_MAX,
): Promise<OperationResponse<'credits.create'>> {
  const id = newId('credit');
  const amount = parseDollars(body.amount);
  const time = new Date(deps.clock.now());
  const reference = body.reference ?? null;
  const event = makeEvent({
    name: 'credit.granted',
    id: eventIds.credit(id),
    source: EVENT_SOURCE,
    time,
    data: { credit_id: id, org, key_id, amount_nano: amount.toString(), reason: body.reason, reference },
  });
  await publishEvent(deps.bus, event).catch((cause: unknown) => {
    const message =
      'The credit could not be confirmed, and may be granted. Look in GET /v1/credits before you repeat it.';
    throw new ServiceError('service_unavailable', message, { cause });
  });
  const late = () => new Error('JetStream does not answer');
  await withTimeout(catchUp(deps), bookedWithinMs, late).catch(() => {}); // the event is durable: the credit is granted
  return {
    id,
    object: 'credit',
    amount: dollarsToJson(amount),
    reason: body.reason,
    reference,
    key_id,
    created_at: time.toISOString(),
  };
}

/** The credits of an org, newest first. */
export async function creditsList(
  { org, query }: OperationRequest<'credits.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'credits.list'>> {
  await catchUp(deps);
  const credits = { 'credit.org': org };
  const { rows, hasMore } = await readPage(deps.store.ledger, { filter: credits, scope: credits }, query);
  return pageOf(rows.flatMap(creditOf), hasMore, ({ id }) => id);
}
