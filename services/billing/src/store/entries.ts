// What an event means to billing: a log row, a charge, both, or the taking back of a charge. Pure.
import { type Event, type EventData, type EventName, eventIds } from '@switchyard/contracts';
import type { LogRow, UnnumberedRow } from './documents.ts';
import { assertId, nonNegativeNanos } from './event-checks.ts';
import { storeQuantities } from './quantities.ts';
import { ratesOf } from './rates.ts';
import { videoCharge, videoRefund } from './video-entries.ts';

/** A thing that happened and that has a log row, and a ledger row where it has the meaning of a charge. */
export interface Occurrence {
  readonly what: 'occurrence';
  readonly log: LogRow;
  readonly charge: UnnumberedRow | null;
}

/** A charge is taken back, whether it is there yet or not. */
export interface Void {
  readonly what: 'void';
  readonly id: string;
  readonly org: string;
  readonly requestId: string;
  readonly at: Date;
}

/** Credits were granted: a row of the ledger, and no log row. */
export interface Granted {
  readonly what: 'credit';
  readonly row: UnnumberedRow;
}

/** A charge is given back by hand; whom and what it concerns the charge knows. */
export interface Refund {
  readonly what: 'refund';
  /** The row but for what it has from its charge. */
  readonly row: UnnumberedRow;
  /** The event that charged, and its line in Logs. */
  readonly charge: string;
  readonly corrects: string;
  readonly number: number;
}

export type Entry = Occurrence | Void | Granted | Refund;

/**
 * The entry of an event; null for those that are none of billing's business.
 * @throws RangeError when the event contradicts itself, or holds a figure that cannot be booked.
 */
export function entryOf(event: Event): Entry | null {
  if (isA(event, 'call.completed')) return completed(event);
  if (isA(event, 'call.refused')) return refused(event);
  if (isA(event, 'call.voided')) return voided(event);
  if (isA(event, 'computer.metered')) return metered(event);
  if (isA(event, 'credit.granted')) return granted(event);
  if (isA(event, 'charge.refunded')) return refunded(event);
  if (isA(event, 'video.charged')) return videoCharge(event);
  if (isA(event, 'video.refunded')) return videoRefund(event);
  return null;
}

function isA<N extends EventName>(event: Event, name: N): event is Event<N> {
  return event.type === name;
}

/** Whether a model was reached: if none was, the call is in Logs only. A cost is booked whatever else is said. */
function isCharge(data: EventData<'call.completed'>, cost: bigint): boolean {
  return data.model !== null || data.attempts.length > 0 || cost > 0n;
}

function completed(event: Event<'call.completed'>): Occurrence {
  const { data } = event;
  assertId(event, eventIds.call(data.request_id));
  const at = new Date(event.time);
  const cost = nonNegativeNanos(data.cost_nano);
  const quantities = storeQuantities(data.quantities);
  const dimensions = {
    org: data.org,
    key: data.key_id,
    type: data.type,
    model: data.model,
    maker: data.maker,
    computer: null,
  };
  return {
    what: 'occurrence',
    log: {
      _id: event.id,
      source: 'call.completed',
      at,
      kind: 'call',
      status: data.status,
      http_status: data.http_status,
      error_code: data.error_code,
      ...dimensions,
      method: 'POST',
      path: data.path,
      requested_model: data.requested_model,
      models: modelsOf(data),
      stream: data.stream,
      cost,
      basis: data.basis,
      quantities,
      latency_ms: data.latency_ms,
      first_byte_ms: data.first_byte_ms,
      attempts: data.attempts,
    },
    charge: isCharge(data, cost)
      ? {
          _id: event.id,
          kind: 'call',
          at,
          ...dimensions,
          status: data.status,
          calls: 1n,
          cost,
          quantities,
          ...ratesOf(data.lines),
        }
      : null,
  };
}

/** Those by which a call is found in Logs, each once. */
function modelsOf({ requested_model, model }: EventData<'call.completed'>): string[] {
  return model === null || model === requested_model ? [requested_model] : [requested_model, model];
}

function refused(event: Event<'call.refused'>): Occurrence {
  const { data } = event;
  assertId(event, eventIds.refused(data.request_id));
  return {
    what: 'occurrence',
    log: {
      _id: event.id,
      source: 'call.refused',
      at: new Date(event.time),
      kind: 'call',
      status: 'refused',
      http_status: data.http_status,
      error_code: data.error_code,
      org: data.org,
      key: data.key_id,
      type: data.type,
      model: null,
      maker: null,
      computer: data.computer_id,
      method: data.method,
      path: data.path,
      requested_model: data.requested_model,
      models: data.requested_model === null ? [] : [data.requested_model],
      stream: false,
      cost: 0n,
      basis: null,
      quantities: {},
      latency_ms: data.latency_ms,
      first_byte_ms: null,
      attempts: [],
    },
    charge: null,
  };
}

function voided(event: Event<'call.voided'>): Void {
  const { request_id: requestId, org } = event.data;
  assertId(event, eventIds.voided(requestId));
  return { what: 'void', id: event.id, org, requestId, at: new Date(event.time) };
}

function granted(event: Event<'credit.granted'>): Granted {
  const { credit_id: id, org, key_id: key, amount_nano: amount, reason, reference } = event.data;
  assertId(event, eventIds.credit(id));
  const nothing = { key: null, type: null, model: null, maker: null, computer: null };
  return {
    what: 'credit',
    row: {
      _id: event.id,
      kind: 'credit',
      at: new Date(event.time),
      org,
      ...nothing,
      calls: 0n,
      cost: 0n,
      quantities: {},
      credit: { org, key, amount: nonNegativeNanos(amount), reason, reference },
    },
  };
}

function refunded(event: Event<'charge.refunded'>): Refund {
  const { data } = event;
  assertId(event, eventIds.refund(data.charge, data.number));
  const nothing = { key: null, type: null, model: null, maker: null, computer: null };
  return {
    what: 'refund',
    row: {
      ...{ _id: event.id, kind: 'refund', refunds: data.charge, at: new Date(event.time), org: data.org },
      ...{ ...nothing, calls: 0n, cost: -nonNegativeNanos(data.amount_nano), quantities: {} },
      refund: { id: data.refund_id, key: data.key_id, reason: data.reason, reference: data.reference },
    },
    charge: data.charge,
    corrects: data.request_id,
    number: data.number,
  };
}

/** `type` of a computer's minutes in Usage and Logs, beside the types of models. */
const COMPUTER_TYPE = 'computer';

function metered(event: Event<'computer.metered'>): Occurrence {
  const { data } = event;
  assertId(event, eventIds.minute(data.computer_id, data.run, data.minute));
  const at = new Date(event.time);
  const cost = nonNegativeNanos(data.cost_nano);
  const quantities = storeQuantities({ minutes: 1 });
  const dimensions = {
    org: data.org,
    key: data.key_id,
    type: COMPUTER_TYPE,
    model: null,
    maker: null,
    computer: data.computer_id,
  };
  return {
    what: 'occurrence',
    log: {
      _id: event.id,
      source: 'computer.metered',
      at,
      kind: 'computer_minute',
      status: 'ok',
      http_status: null,
      error_code: null,
      ...dimensions,
      method: null,
      path: null,
      requested_model: null,
      models: [],
      stream: false,
      cost,
      basis: 'metered',
      quantities,
      latency_ms: null,
      first_byte_ms: null,
      attempts: [],
    },
    charge: {
      _id: event.id,
      kind: 'computer_minute',
      at,
      ...dimensions,
      calls: 0n,
      cost,
      quantities,
      ...ratesOf(data.lines),
    },
  };
}
