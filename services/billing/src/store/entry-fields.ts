// The fields that billing writes for each booked event. docs/adding-a-charge.md lists the other places to edit.
import {
  type BookedEventName,
  type CallerContext,
  type Event,
  type EventData,
  eventIds,
  isRefusal,
  type Tags,
  tagPairs,
} from '@switchyard/contracts';
import type { LogRow, UnnumberedRow } from './documents.ts';
import { negateQuantities, storeQuantities } from './quantities.ts';

/** The fields of the rows of an event, besides id, kind, time and org. */
interface Rows {
  /** Fields of both rows. */
  readonly both?: Partial<
    Pick<LogRow & UnnumberedRow, 'key' | 'type' | 'model' | 'maker' | 'tags' | 'cost' | 'quantities'>
  >;
  /** Fields of the ledger row; null: this event has none. */
  readonly row?: Partial<UnnumberedRow> | null;
  readonly log?: Partial<LogRow>;
}

export type EntryFields =
  | Rows
  /** Id of the call that the event voids. */
  | { readonly voids: string }
  /** The charge that a manual refund reduces, and its sequence number among the refunds of this charge. */
  | (Rows & { readonly charge: string; readonly number: number });

/**
 * The fields of the rows of every event that billing books; libs/contracts/src/events/ has their names, ids and kinds.
 * An event without a line does not compile.
 *
 * Booking and the audit both read this table, so a wrong line here misleads both. Three checks of the audit are
 * independent of it: the amount, org and id of each event, read from the message itself (audit/stated-amounts.ts); the
 * cost that callers received (audit/receipts-check.ts); and the sums of ledger, logs, usage and statements.
 *
 * Each throws RangeError for a figure that cannot be booked.
 */
export const ENTRY_FIELDS: { readonly [N in BookedEventName]: (event: Event<N>) => EntryFields } = {
  'call.completed': callCompleted,
  'call.refused': callRefused,
  'call.voided': ({ data }) => ({ voids: data.request_id }),
  'computer.metered': computerMetered,
  'video.charged': videoCharged,
  'video.refunded': videoRefunded,
  'charge.refunded': chargeRefunded,
  'credit.granted': creditGranted,
};

function callCompleted(event: Event<'call.completed'>): EntryFields {
  const { data } = event;
  const { status, http_status, error_code, path, requested_model, model, stream, basis } = data;
  return {
    both: {
      ...charged(data, data.type, data.quantities),
      ...{ model, maker: data.maker },
    },
    row: isRefusal(event) ? null : { status, calls: 1n, ...ratesOf(data.lines) },
    log: {
      ...{ status, http_status, error_code, method: 'POST', path, requested_model, stream, basis },
      dialect: data.dialect ?? null,
      models: [...new Set([requested_model, model ?? requested_model])],
      ...{ latency_ms: data.latency_ms, first_byte_ms: data.first_byte_ms, attempts: data.attempts },
      ...originOf(data),
    },
  };
}

function callRefused({ data }: Event<'call.refused'>): EntryFields {
  const { http_status, error_code, method, path, requested_model, latency_ms } = data;
  return {
    both: { key: data.key_id, type: data.type, ...tagsOf(data) },
    log: {
      ...{ status: 'refused', http_status, error_code, method, path, requested_model, latency_ms },
      computer: data.computer_id,
      dialect: data.dialect ?? null,
      models: requested_model === null ? [] : [requested_model],
      ...originOf(data),
    },
  };
}

function computerMetered({ data }: Event<'computer.metered'>): EntryFields {
  const computer = data.computer_id;
  return {
    both: charged(data, 'computer', { minutes: 1 }),
    row: { computer, ...ratesOf(data.lines) },
    log: { computer, basis: 'metered' },
  };
}

/** A video job is a call. A failed one also has a refund, and both add up to zero. */
function videoCharged(event: Event<'video.charged'>): EntryFields {
  const { path, requested_model, model, maker, latency_ms, duration } = event.data;
  const { both, row, log } = requestCharged(event, {
    ...{ type: 'video', quantities: { seconds: duration }, path, http_status: 202 },
  });
  return {
    both: { ...both, model, maker },
    row,
    log: { ...log, requested_model, models: [...new Set([requested_model, model])], latency_ms },
  };
}

function videoRefunded({ data }: Event<'video.refunded'>): EntryFields {
  const { model, maker } = data;
  return {
    both: {
      ...{ key: data.key_id, type: 'video', model, maker, cost: -nonNegative(data.cost_nano) },
      quantities: negateQuantities(storeQuantities({ seconds: data.seconds })),
      ...tagsOf(data),
    },
    row: { status: 'ok', refunds: eventIds.videoCharge(data.video_id) },
    log: { method: 'POST', models: [model], corrects: data.request_id },
  };
}

function chargeRefunded({ data }: Event<'charge.refunded'>): EntryFields {
  const { refund_id: id, key_id: key, charge, number, reason, reference } = data;
  return {
    both: { cost: -nonNegative(data.amount_nano) },
    row: { refunds: charge, refund: { id, key, reason, reference } },
    log: { corrects: data.request_id, correction: { of: charge, reason, reference } },
    ...{ charge, number },
  };
}

/** A credit costs nothing: its amount is not in `cost`, and in no sum of Usage. */
function creditGranted({ data }: Event<'credit.granted'>): EntryFields {
  const { org, key_id: key, reason, reference } = data;
  return { row: { credit: { org, key, amount: nonNegative(data.amount_nano), reason, reference } } };
}

interface RequestChargeData extends ChargeData, CallerContext {
  readonly request_id: string;
  readonly lines: Parameters<typeof ratesOf>[0];
}

/**
 * The charge of one request, whose event has its own id. Its line in Logs has the id of the request, and names its
 * charge.
 */
function requestCharged(
  { id, data }: { readonly id: string; readonly data: RequestChargeData },
  asked: { type: string; quantities: Readonly<Record<string, number>>; path: string; http_status: number },
) {
  const { type, quantities, path, http_status } = asked;
  return {
    both: charged(data, type, quantities),
    row: { request_id: data.request_id, status: 'ok', calls: 1n, ...ratesOf(data.lines) },
    log: { _id: data.request_id, charge: id, http_status, method: 'POST', path, ...originOf(data) },
  } as const;
}

interface ChargeData extends Pick<CallerContext, 'tags'> {
  readonly key_id: string;
  readonly cost_nano: string;
}

/** Fields of both rows of a charge. */
function charged(data: ChargeData, type: string, quantities: Readonly<Record<string, number>>) {
  return {
    ...{ key: data.key_id, type, cost: nonNegative(data.cost_nano), quantities: storeQuantities(quantities) },
    ...tagsOf(data),
  };
}

function tagsOf({ tags = {} }: { readonly tags?: Tags | undefined }): Pick<LogRow, 'tags'> {
  const pairs = tagPairs(tags);
  return pairs.length > 0 ? { tags: pairs } : {};
}

function originOf({ client_request_id, traceparent }: CallerContext): Partial<LogRow> {
  return { ...(client_request_id ? { client_request_id } : {}), ...(traceparent ? { traceparent } : {}) };
}

function nonNegative(nanos: string): bigint {
  const amount = BigInt(nanos);
  if (amount < 0n) throw new RangeError(`a charge below zero: ${nanos}`);
  return amount;
}

/** Rates of the counted units: `<unit> <dollars>`, for a whole unit also where parts of it were counted. */
function ratesOf(lines: EventData<'call.completed'>['lines']): Pick<UnnumberedRow, 'rates'> {
  const rates = lines
    .filter(({ quantity }) => Number(quantity) !== 0)
    .map(({ unit, rate }) => `${unit} ${rate}`);
  return rates.length > 0 ? { rates } : {};
}
