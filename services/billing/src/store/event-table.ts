// The table of all events: what billing writes for each. An event without a line, or a charging event that is `free`,
// does not compile (event-table.test.ts). docs/adding-a-charge.md lists the other places of an event that charges.
import {
  type CallerContext,
  type Event,
  type EventData,
  type EventName,
  eventIds,
  isRefusal,
  type LedgerKind,
  type LogKind,
  type Tags,
  tagPairs,
} from '@switchyard/contracts';
import type { LogRow, UnnumberedRow } from './documents.ts';
import { negateQuantities, storeQuantities } from './quantities.ts';

/** Events that state an amount of money: they have a ledger row. */
type Priced = { readonly cost_nano: string } | { readonly amount_nano: string };

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

type Conversion =
  | Rows
  /** Id of the call that the event voids. */
  | { readonly voids: string }
  /** The charge that a manual refund reduces, and its sequence number among the refunds of this charge. */
  | (Rows & { readonly charge: string; readonly number: number });

/** How billing books one event. */
export interface Booked<N extends EventName> {
  /** The id that the event must have. Exactly-once booking depends on it. */
  readonly id: (data: EventData<N>) => string;
  /** Kind of its ledger row; null: it has none. */
  readonly kind: LedgerKind | (EventData<N> extends Priced ? never : null);
  /** Kind of the log row of an event without a ledger row; else the kind of the ledger row decides (LEDGER_KINDS). */
  readonly log?: LogKind;
  /** How an audit compares times: a minute or a void that is repeated after a crash may carry another time. */
  readonly audit: 'same_time' | 'any_time';
  /** @throws RangeError for a figure that cannot be booked */
  readonly convert: (event: Event<N>) => Conversion;
}

export type EventTable = {
  readonly [N in EventName]: Booked<N> | (EventData<N> extends Priced ? never : 'free');
};

/**
 * Every event, with its ledger row, its log row and how an audit compares them. `free`: billing ignores it.
 *
 * Booking and the audit both read this table, so a wrong line here misleads both. Three checks of the audit are
 * independent of it: the amount, org and id of each event, read from the message itself (audit/stated-amounts.ts); the
 * cost that callers received (audit/receipts-check.ts); and the sums of ledger, logs, usage and statements.
 */
export const EVENT_TABLE = {
  'call.completed': {
    id: ({ request_id }) => eventIds.call(request_id),
    ...{ kind: 'call', audit: 'same_time', convert: callCompleted },
  },
  'call.refused': {
    id: ({ request_id }) => eventIds.refused(request_id),
    ...{ kind: null, log: 'call', audit: 'same_time', convert: callRefused },
  },
  'call.voided': {
    id: ({ request_id }) => eventIds.voided(request_id),
    ...{ kind: 'void', audit: 'any_time', convert: ({ data }) => ({ voids: data.request_id }) },
  },
  'computer.metered': {
    id: ({ computer_id, run, minute }) => eventIds.minute(computer_id, run, minute),
    ...{ kind: 'computer_minute', audit: 'any_time', convert: computerMetered },
  },
  'video.charged': {
    id: ({ video_id }) => eventIds.videoCharge(video_id),
    ...{ kind: 'video', audit: 'same_time', convert: videoCharged },
  },
  'video.refunded': {
    id: ({ video_id, reason }) =>
      reason === 'cheaper_model' ? eventIds.videoDifference(video_id) : eventIds.videoRefund(video_id),
    ...{ kind: 'refund', audit: 'same_time', convert: videoRefunded },
  },
  'charge.refunded': {
    id: ({ charge, number }) => eventIds.refund(charge, number),
    ...{ kind: 'refund', audit: 'same_time', convert: chargeRefunded },
  },
  'credit.granted': {
    id: ({ credit_id }) => eventIds.credit(credit_id),
    ...{ kind: 'credit', audit: 'same_time', convert: creditGranted },
  },
  'computer.created': 'free',
  'computer.started': 'free',
  'computer.stopped': 'free',
  'computer.deleted': 'free',
  'video.completed': 'free',
  'video.failed': 'free',
  'account.updated': 'free',
  'org.created': 'free',
  'org.updated': 'free',
  'org.suspended': 'free',
  'org.restored': 'free',
  'org.removed': 'free',
  'key.created': 'free',
  'key.updated': 'free',
  'key.rotated': 'free',
  'key.revoked': 'free',
  'webhook.created': 'free',
  'webhook.updated': 'free',
  'webhook.rotated': 'free',
  'webhook.deleted': 'free',
  'signing_secret.rotated': 'free',
  'provider.updated': 'free',
  'provider.deleted': 'free',
  'budget.threshold': 'free',
} as const satisfies EventTable;

function callCompleted(event: Event<'call.completed'>): Conversion {
  const { data } = event;
  const { status, http_status, error_code, path, requested_model, model, stream, basis } = data;
  return {
    both: {
      ...{ key: data.key_id, type: data.type, model, maker: data.maker },
      ...{ cost: nonNegative(data.cost_nano), quantities: storeQuantities(data.quantities) },
      ...tagsOf(data),
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

function callRefused({ data }: Event<'call.refused'>): Conversion {
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

function computerMetered({ data }: Event<'computer.metered'>): Conversion {
  const computer = data.computer_id;
  return {
    both: {
      ...{ key: data.key_id, type: 'computer' },
      ...{ cost: nonNegative(data.cost_nano), quantities: storeQuantities({ minutes: 1 }) },
      ...tagsOf(data),
    },
    row: { computer, ...ratesOf(data.lines) },
    log: { computer, basis: 'metered' },
  };
}

/** A video job is a call. A failed one also has a refund, and both add up to zero. */
function videoCharged({ id, data }: Event<'video.charged'>): Conversion {
  const { path, requested_model, model, latency_ms } = data;
  return {
    both: {
      ...{ key: data.key_id, type: 'video', model, maker: data.maker },
      ...{ cost: nonNegative(data.cost_nano), quantities: storeQuantities({ seconds: data.duration }) },
      ...tagsOf(data),
    },
    row: { request_id: data.request_id, status: 'ok', calls: 1n, ...ratesOf(data.lines) },
    log: {
      ...{ _id: data.request_id, charge: id, http_status: 202, method: 'POST', path, requested_model },
      ...{ models: [...new Set([requested_model, model])], latency_ms },
      ...originOf(data),
    },
  };
}

function videoRefunded({ data }: Event<'video.refunded'>): Conversion {
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

function chargeRefunded({ data }: Event<'charge.refunded'>): Conversion {
  const { refund_id: id, key_id: key, charge, number, reason, reference } = data;
  return {
    both: { cost: -nonNegative(data.amount_nano) },
    row: { refunds: charge, refund: { id, key, reason, reference } },
    log: { corrects: data.request_id, correction: { of: charge, reason, reference } },
    ...{ charge, number },
  };
}

/** A credit costs nothing: its amount is not in `cost`, and in no sum of Usage. */
function creditGranted({ data }: Event<'credit.granted'>): Conversion {
  const { org, key_id: key, reason, reference } = data;
  return { row: { credit: { org, key, amount: nonNegative(data.amount_nano), reason, reference } } };
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
