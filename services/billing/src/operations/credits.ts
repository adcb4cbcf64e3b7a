// credits.create, credits.list: the credits of an org.
import {
  EVENTS_STREAM,
  eventIds,
  eventSubject,
  LIST_LIMIT_MAX,
  makeEvent,
  newId,
  type OperationRequest,
  type OperationResponse,
} from '@switchyard/contracts';
import { dollarsToJson, parseDollars } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import { creditOf } from '../statements/read-statement.ts';

const EVENT_SOURCE = '/switchyard/billing';

/**
 * Grants credits through an event. The answer follows when the ledger has the event.
 * @throws JetStreamError, TimeoutError when the stream does not accept the event; then nothing was granted
 */
export async function creditsCreate(
  { org, key_id, body }: OperationRequest<'credits.create'>,
  deps: BillingDeps,
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
  await deps.bus.js.publish(eventSubject(event), JSON.stringify(event), {
    msgID: event.id,
    expect: { streamName: EVENTS_STREAM },
  });
  await catchUp(deps);
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

/** All credits of an org, newest first. */
export async function creditsList(
  { org }: OperationRequest<'credits.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'credits.list'>> {
  await catchUp(deps);
  const found = await deps.store.ledger
    .find({ 'credit.org': org })
    .sort({ at: -1, n: -1 })
    .limit(LIST_LIMIT_MAX + 1)
    .toArray();
  const data = found.slice(0, LIST_LIMIT_MAX).flatMap(creditOf);
  return { object: 'list', data, has_more: found.length > LIST_LIMIT_MAX, next_cursor: null };
}
