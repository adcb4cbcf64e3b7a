// Events: CloudEvents 1.0 in structured JSON on `event.v1.<noun>.<past-verb>.<org>` of the JetStream stream EVENTS; those of
// refused calls on the same subject with `.refused` at its end, of the stream REFUSALS. Ids are deterministic, so that
// a repeated publication is recognised. An event never has a prompt, an answer or a file.
import { formatDollars } from '@switchyard/money';
import { z } from 'zod';
import { billingMode } from './accounts.ts';
import { computerStatus, stopReason } from './computers.ts';
import { dialect } from './dialects.ts';
import { logAttempt, logStatus, quantities } from './usage.ts';
import { videoCandidate } from './videos.ts';

export const EVENTS_STREAM = 'EVENTS';
export const EVENTS_SUBJECTS = 'event.v1.*.*.*';
/** Events of calls that reached no model: they charge nothing, so this stream may discard them. */
export const REFUSALS_STREAM = 'REFUSALS';
const REFUSED_SUFFIX = '.refused';
export const REFUSALS_SUBJECTS = `${EVENTS_SUBJECTS}${REFUSED_SUFFIX}`;

/** Every stream that has events, and how its subjects end. */
export const EVENT_STREAMS = [
  { stream: EVENTS_STREAM, suffix: '' },
  { stream: REFUSALS_STREAM, suffix: REFUSED_SUFFIX },
] as const;
export type EventStream = (typeof EVENT_STREAMS)[number]['stream'];

/** Names of the consumers on EVENTS that book: one for each partition of billing, with the number of its layout. */
export const BOOKING_CONSUMER = /^billing-p\d+(?:-e(\d+))?$/;

/** Integer nano-dollars as a decimal string: JSON has no exact integers of that size. */
export const nanos = z.string().regex(/^-?\d{1,18}$/);

/** What was counted, at which rate: the price frozen in the event. Same meaning as libs/money's ChargeLine. */
export const chargeLine = z.object({
  unit: z.string(),
  quantity: z.union([z.number().nonnegative(), z.string()]),
  rate: z.string(),
  per: z.int().positive().optional(),
});

/** A call that came to its end at the router, whatever the end: one for each, cost 0 where nothing usable came. */
const callCompleted = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  type: z.string(),
  path: z.string(),
  /** Of a language model: the shape in which it was called. */
  dialect: dialect.optional(),
  requested_model: z.string(),
  model: z.string().nullable(),
  maker: z.string().nullable(),
  status: logStatus,
  http_status: z.int(),
  error_code: z.string().nullable(),
  stream: z.boolean(),
  cost_nano: nanos,
  basis: z.enum(['upstream', 'estimated']).nullable(),
  lines: z.array(chargeLine),
  quantities,
  latency_ms: z.number(),
  first_byte_ms: z.number().nullable(),
  attempts: z.array(logAttempt),
});
export type CallCompleted = z.infer<typeof callCompleted>;

/** An authenticated call that the edge refused before any model was reached: a log row, cost 0. */
const callRefused = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  type: z.string().nullable(),
  method: z.string(),
  path: z.string(),
  dialect: dialect.optional(),
  requested_model: z.string().nullable(),
  computer_id: z.string().nullable(),
  http_status: z.int(),
  error_code: z.string(),
  latency_ms: z.number(),
});

/** The caller never got the answer that `request_id`'s event charges: billing nets it, in either order. */
const callVoided = z.object({
  request_id: z.string(),
  org: z.string(),
  reason: z.enum(['answer_lost', 'usage_not_stored', 'edge_lost']),
});

/** One started minute of a running computer. */
const computerMetered = z.object({
  computer_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  host: z.string(),
  run: z.int().positive(),
  /** 0 for the first minute of the run. */
  minute: z.int().nonnegative(),
  image: z.string(),
  cpu: z.number(),
  memory_mb: z.int(),
  disk_gb: z.number(),
  lines: z.array(chargeLine),
  cost_nano: nanos,
});

const computerChanged = z.object({
  computer_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  host: z.string(),
  status: computerStatus,
  run: z.int().nullable(),
  stop_reason: stopReason.nullable(),
});

const computerDeleted = z.object({
  computer_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  host: z.string(),
});

/** A video job was taken and charged, in one: the job is made from this event, and its price is frozen in it. */
const videoCharged = z.object({
  video_id: z.string(),
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  path: z.string(),
  requested_model: z.string(),
  /** The model whose price is charged, and its maker. */
  model: z.string(),
  maker: z.string(),
  /** The models that can serve it, in order, with what each asks for it. */
  candidates: z.array(videoCandidate).min(1),
  /** Seconds. */
  duration: z.int().positive(),
  /** As asked for, and what the model makes where nothing was. */
  resolution: z.string().nullable(),
  default_resolution: z.string().nullable(),
  /** Bytes of its first frame; 0: it has none. */
  image_bytes: z.int().nonnegative(),
  deadline_at: z.iso.datetime(),
  cost_nano: nanos,
  lines: z.array(chargeLine),
  latency_ms: z.number(),
});

const videoRefunded = z.object({
  video_id: z.string(),
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  /** The model whose price was charged, and its maker. */
  model: z.string(),
  maker: z.string(),
  /** `cheaper_model`: a part, the difference to the one that serves; else all that was left of the charge. */
  reason: z.enum(['failed', 'deleted', 'cheaper_model']),
  /** Seconds taken back with it. */
  seconds: z.number().nonnegative(),
  /** What is given back: above zero. */
  cost_nano: nanos,
});

const videoEnded = z.object({
  video_id: z.string(),
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  model: z.string(),
  duration: z.int(),
  /** Milliseconds from the request to the end. */
  elapsed_ms: z.number(),
  /** Upstreams that were asked and did not take it. */
  attempts: z.array(logAttempt),
  error_code: z.string().nullable(),
});

/** Credits of an org: a row of the ledger of its own, that costs nothing and may be spent. */
const creditGranted = z.object({
  credit_id: z.string(),
  org: z.string(),
  /** The key that granted it. */
  key_id: z.string(),
  amount_nano: nanos,
  reason: z.string(),
  reference: z.string().nullable(),
});

/** A charge was given back by hand, in whole or in part. */
const chargeRefunded = z.object({
  refund_id: z.string(),
  org: z.string(),
  /** The key that gave it back. */
  key_id: z.string(),
  /** Id of the event that charged. */
  charge: z.string(),
  /** Id of its line in Logs. */
  request_id: z.string(),
  /** Sequence number among the refunds of this charge, from 1. A number is used only once. */
  number: z.int().positive(),
  amount_nano: nanos,
  reason: z.string(),
  reference: z.string().nullable(),
});

const keyChanged = z.object({ key_id: z.string(), org: z.string(), by_key_id: z.string().nullable() });

const accountUpdated = z.object({
  org: z.string(),
  by_key_id: z.string(),
  billing: billingMode,
  /** Null: no limit. */
  monthly_limit_nano: nanos.nullable(),
});

const orgChanged = z.object({ org: z.string(), by_key_id: z.string() });

const orgSuspended = orgChanged.extend({
  /** When the data of a deleted org are removed; null: it was only suspended. */
  removed_at: z.iso.datetime().nullable(),
});

const COMPUTER_SHOWS = ['computer_id', 'stop_reason', 'host'] as const;
const VIDEO_SHOWS = ['video_id', 'model', 'elapsed_ms', 'error_code'] as const;
const KEY_SHOWS = ['key_id', 'by_key_id'] as const;

interface Defined<S extends z.ZodObject> {
  readonly data: S;
  readonly meaning: string;
  /** What one line about it shows, in this order (`eventLine`). */
  readonly shows: readonly (keyof z.infer<S> & string)[];
}

function define<S extends z.ZodObject>(data: S, meaning: string, shows: Defined<S>['shows']): Defined<S> {
  return { data, meaning, shows };
}

/** Every event by its `<noun>.<past-verb>`. docs/events.md lists the same. */
export const EVENTS = {
  'call.completed': define(callCompleted, 'A model call came to its end; it carries the charge.', [
    ...(['model', 'requested_model', 'status', 'cost_nano', 'latency_ms', 'error_code'] as const),
  ]),
  'call.refused': define(callRefused, 'An authenticated call was refused before it reached a model; free.', [
    'method',
    'path',
    'http_status',
    'error_code',
  ]),
  'call.voided': define(callVoided, 'The answer never reached its caller: the charge is taken back.', [
    'request_id',
    'reason',
  ]),
  'computer.created': define(computerChanged, 'A computer was created and runs.', COMPUTER_SHOWS),
  'computer.started': define(computerChanged, 'A stopped computer was started.', COMPUTER_SHOWS),
  'computer.stopped': define(computerChanged, 'A computer stopped; `stop_reason` says why.', COMPUTER_SHOWS),
  'computer.deleted': define(computerDeleted, 'A computer and its files were removed for good.', [
    'computer_id',
    'host',
  ]),
  'computer.metered': define(
    computerMetered,
    'One started minute of a running computer; it carries the charge.',
    ['computer_id', 'run', 'minute', 'cost_nano'],
  ),
  'video.charged': define(
    videoCharged,
    'A video job was taken; it carries the full price and is the job itself.',
    ['video_id', 'model', 'duration', 'cost_nano'],
  ),
  'video.refunded': define(
    videoRefunded,
    'A charge for a video was given back: all of it, or the difference to a cheaper model.',
    ['video_id', 'model', 'reason', 'cost_nano'],
  ),
  'video.completed': define(videoEnded, 'A video is there to be fetched.', VIDEO_SHOWS),
  'video.failed': define(videoEnded, 'A video job failed; `error_code` says why.', VIDEO_SHOWS),
  'credit.granted': define(creditGranted, 'An org got credits; it may spend them when it is prepaid.', [
    'amount_nano',
    'reason',
    'reference',
  ]),
  'charge.refunded': define(
    chargeRefunded,
    'A charge was given back by hand, in whole or in part; `charge` names its event.',
    ['charge', 'amount_nano', 'reason', 'reference'],
  ),
  'account.updated': define(
    accountUpdated,
    'How an org pays, or what it may spend in a month, was changed; `billing` and `monthly_limit_nano` say to what.',
    ['org', 'billing', 'monthly_limit_nano'],
  ),
  'org.created': define(orgChanged, 'An operator made an org.', ['org', 'by_key_id']),
  'org.suspended': define(
    orgSuspended,
    'An org was suspended, or deleted: then `removed_at` says when its data are removed.',
    ['org', 'by_key_id', 'removed_at'],
  ),
  'org.restored': define(orgChanged, 'A suspended or deleted org is active again.', ['org', 'by_key_id']),
  'org.removed': define(z.object({ org: z.string() }), 'The data of a deleted org were removed.', ['org']),
  'key.created': define(keyChanged, 'An API key was made.', KEY_SHOWS),
  'key.updated': define(keyChanged, 'An API key was given another name, permissions or limits.', KEY_SHOWS),
  'key.revoked': define(keyChanged, 'An API key was revoked.', KEY_SHOWS),
} as const;

export type EventName = keyof typeof EVENTS;
export type EventData<N extends EventName> = z.infer<(typeof EVENTS)[N]['data']>;

export interface Event<N extends EventName = EventName> {
  specversion: '1.0';
  id: string;
  source: string;
  type: N;
  /** Set once, by the emitter. */
  time: string;
  datacontenttype: 'application/json';
  data: EventData<N>;
}

export interface NewEvent<N extends EventName> {
  name: N;
  /** Deterministic: the same fact always has the same id. */
  id: string;
  /** The emitting service, for example `/switchyard/model-router`. */
  source: string;
  time: Date;
  data: EventData<N>;
}

export function makeEvent<N extends EventName>({ name, id, source, time, data }: NewEvent<N>): Event<N> {
  return {
    specversion: '1.0',
    id,
    source,
    type: name,
    time: time.toISOString(),
    datacontenttype: 'application/json',
    data,
  };
}

/** The subject of an event: it decides which of the two streams has it. */
export function eventSubject(event: Event): string {
  return `event.v1.${event.type}.${event.data.org}${isRefusal(event) ? REFUSED_SUFFIX : ''}`;
}

/** The stream of an event. */
export function eventStream(event: Event): EventStream {
  return isRefusal(event) ? REFUSALS_STREAM : EVENTS_STREAM;
}

/** Whether the event is of a call that reached no model: a log row, and no row of the ledger. */
export function isRefusal(event: Event): boolean {
  if (event.type === 'call.refused') return true;
  if (event.type !== 'call.completed') return false;
  const { model, attempts, cost_nano } = event.data as CallCompleted;
  return model === null && attempts.length === 0 && BigInt(cost_nano) === 0n;
}

const envelope = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string(),
  type: z.enum(Object.keys(EVENTS) as [EventName, ...EventName[]]),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  data: z.unknown(),
});

/**
 * Reads an event and checks its data against its type.
 * @throws z.ZodError when it is none of ours.
 */
export function parseEvent(json: unknown): Event {
  const head = envelope.parse(json);
  return { ...head, data: EVENTS[head.type].data.parse(head.data) } as Event;
}

/**
 * An event in words for people, one for each field that it shows. Money is in dollars, exact to the nano-dollar.
 * @param type a name of `EVENTS`; of any other nothing is shown
 */
export function eventLine(type: string, data: Readonly<Record<string, unknown>>): string[] {
  const { shows } = (EVENTS as Partial<Record<string, { readonly shows: readonly string[] }>>)[type] ?? {
    shows: [],
  };
  return shows.flatMap((field) => {
    const value = data[field];
    return value === null || value === undefined ? [] : shown(field, value);
  });
}

function shown(field: string, value: unknown): string {
  if (field.endsWith('_nano')) return `$${formatDollars(BigInt(String(value)))}`;
  if (field.endsWith('_ms')) return `${value} ms`;
  if (field === 'duration') return `${value} s`;
  return field === 'run' || field === 'minute' ? `${field} ${value}` : String(value);
}

/** The ids of events: the same fact, the same id. */
export const eventIds = {
  call: (requestId: string) => requestId,
  refused: (requestId: string) => requestId,
  voided: (requestId: string) => `${requestId}:void`,
  minute: (computerId: string, run: number, minute: number) => `${computerId}:${run}:${minute}`,
  computer: (computerId: string, run: number, change: string) => `${computerId}:${run}:${change}`,
  videoCharge: (videoId: string) => `${videoId}:charge`,
  videoRefund: (videoId: string) => `${videoId}:refund`,
  /** Given back when a cheaper model takes the job; a failure later gives back the rest. */
  videoDifference: (videoId: string) => `${videoId}:difference`,
  videoEnd: (videoId: string, end: 'completed' | 'failed') => `${videoId}:${end}`,
  org: (org: string, change: 'created' | 'removed') => `${org}:${change}`,
  /** `revision` is that of the org's record after the change. */
  orgStatus: (org: string, change: 'suspended' | 'restored', revision: number) =>
    `${org}:${change}:${revision}`,
  accountUpdated: (org: string, revision: number) => `${org}:updated:${revision}`,
  keyUpdated: (keyId: string, revision: number) => `${keyId}:updated:${revision}`,
  credit: (creditId: string) => creditId,
  /** The place in the row of a charge's refunds: two made at once cannot both have it. */
  refund: (charge: string, number: number) => `${charge}:refund:${number}`,
  key: (keyId: string, change: 'created' | 'revoked') => `${keyId}:${change}`,
} as const;
