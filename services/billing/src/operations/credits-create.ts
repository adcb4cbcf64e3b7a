// credits.create: grants credits. The event is the credit; it is answered when the ledger has it.
import {
  EVENTS_STREAM,
  eventIds,
  eventSubject,
  makeEvent,
  newId,
  type OperationRequest,
  type OperationResponse,
} from '@switchyard/contracts';
import { dollarsToJson, parseDollars } from '@switchyard/money';
import { catchUp } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';

const EVENT_SOURCE = '/switchyard/billing';

/** @throws JetStreamError, TimeoutError when the stream does not take it: nothing was granted then. */
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
