// Events: CloudEvents 1.0 in structured JSON on `event.v1.<noun>.<past-verb>.<org>` of the JetStream stream EVENTS; those of
// refused calls are in the stream REFUSALS, with `.refused` at the end of the subject. Ids are deterministic, so that
// a repeated publication is recognised. An event never has a prompt, an answer or a file.
import { formatDollars } from '@switchyard/money';
import { z } from 'zod';
import { accountEventIds, accountEvents } from './events/account-events.ts';
import { adminEventIds, adminEvents } from './events/admin-events.ts';
import { budgetEventIds, budgetEvents } from './events/budget-events.ts';
import { type CallCompleted, callEventIds, callEvents } from './events/call-events.ts';
import { computerEventIds, computerEvents } from './events/computer-events.ts';
import type { Booked } from './events/define-event.ts';
import { videoEventIds, videoEvents } from './events/video-events.ts';
import { LEDGER_KINDS } from './ledger-kinds.ts';

export type { Actor, Administered, Changes } from './events/administered.ts';
export { BUDGET_THRESHOLDS } from './events/budget-events.ts';
export { computerOfMinute } from './events/computer-events.ts';
export { chargeLine, defineBookedEvent, defineEvent, nanos } from './events/define-event.ts';
export type { CallCompleted };

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

/**
 * Events as computer hosts publish them, each host on one subject, `host-event.v1.<host>`. Control checks each against the
 * placement of its computer and publishes it on EVENTS. A work queue: an acknowledged message is deleted.
 */
export const HOST_EVENTS_STREAM = 'HOST_EVENTS';
const HOST_EVENT = 'host-event.v1';
export const HOST_EVENTS_SUBJECTS = `${HOST_EVENT}.*`;

/** Names of the consumers on EVENTS that book: one for each partition of billing, with the number of its layout. */
export const BOOKING_CONSUMER = /^billing-p\d+(?:-e(\d+))?$/;

/** Every event by its `<noun>.<past-verb>`; each noun has its file in events/. */
export const EVENTS = {
  ...callEvents,
  ...computerEvents,
  ...videoEvents,
  ...accountEvents,
  ...adminEvents,
  ...budgetEvents,
} as const;

export type EventName = keyof typeof EVENTS;
/** Events that billing books. */
export type BookedEventName = {
  [N in EventName]: (typeof EVENTS)[N] extends { readonly booked: unknown } ? N : never;
}[EventName];
export type EventData<N extends EventName> = z.infer<(typeof EVENTS)[N]['data']>;

export interface Event<N extends EventName = EventName> {
  specversion: '1.0';
  id: string;
  source: string;
  type: N;
  /** Set once, by the emitter. */
  time: string;
  datacontenttype: 'application/json';
  /**
   * Of a charge: the mark-up in percent that its rates include, if any. Of a change of an org: its new mark-up, if that
   * changed. Not in `data`, which the org sees.
   */
  markuppercent?: string;
  data: EventData<N>;
}

export interface NewEvent<N extends EventName> {
  name: N;
  /** Deterministic: the same fact always has the same id. */
  id: string;
  /** The emitting service, for example `/switchyard/model-router`. */
  source: string;
  time: Date;
  /** `markuppercent` */
  markup?: string | undefined;
  data: EventData<N>;
}

export function makeEvent<N extends EventName>(event: NewEvent<N>): Event<N> {
  const { name, id, source, time, markup, data } = event;
  return {
    specversion: '1.0',
    id,
    source,
    type: name,
    time: time.toISOString(),
    datacontenttype: 'application/json',
    ...(markup === undefined ? {} : { markuppercent: markup }),
    data,
  };
}

/** The subject of an event: it decides which of the two streams has it. */
export function eventSubject(event: Event): string {
  return `event.v1.${event.type}.${event.data.org}${isRefusal(event) ? REFUSED_SUFFIX : ''}`;
}

/** The subject on which a computer host publishes its events. */
export function eventSubjectOfHost(host: string): string {
  return `${HOST_EVENT}.${host}`;
}

/** The host that published a message of HOST_EVENTS; nats-server lets each host use its own name only. */
export function publishingHost(subject: string): string {
  return subject.split('.')[2] ?? '';
}

/** The stream of an event. */
export function eventStream(event: Event): EventStream {
  return isRefusal(event) ? REFUSALS_STREAM : EVENTS_STREAM;
}

/** Whether the event is of a call that reached no model: it has a log row but no ledger row. */
export function isRefusal(event: Event): boolean {
  if (event.type === 'call.refused') return true;
  if (event.type !== 'call.completed') return false;
  const { model, attempts, cost_nano } = event.data as CallCompleted;
  return model === null && attempts.length === 0 && BigInt(cost_nano) === 0n;
}

/** How billing books the events of a name; null: it ignores them. */
export function bookedAs(name: EventName): Booked<EventData<BookedEventName>> | null {
  const defined = EVENTS[name];
  // The function of one event takes the data of that event only; TypeScript cannot express that.
  return 'booked' in defined ? (defined.booked as Booked<EventData<BookedEventName>>) : null;
}

/** The events that charge a request: Logs show them as calls, and their publishers hold the cost of the work before. */
export const REQUEST_CHARGES: readonly EventName[] = (Object.keys(EVENTS) as EventName[]).filter((name) => {
  const kind = bookedAs(name)?.kind ?? null;
  return kind !== null && LEDGER_KINDS[kind].log === 'call';
});

const envelope = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string(),
  type: z.enum(Object.keys(EVENTS) as [EventName, ...EventName[]]),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  markuppercent: z.string().optional(),
  data: z.unknown(),
});

/**
 * Reads an event and checks its data against its type.
 * @throws z.ZodError when it is not valid.
 */
export function parseEvent(json: unknown): Event {
  const head = envelope.parse(json);
  return { ...head, data: EVENTS[head.type].data.parse(head.data) } as Event;
}

/**
 * An event for people, as one text for each field that it shows. Money is in dollars, exact to the nano-dollar. Control
 * characters are replaced: a name that a tenant chose could command the terminal of an operator.
 * @param type a name of `EVENTS`; for any other the list is empty
 */
export function eventLine(type: string, data: Readonly<Record<string, unknown>>): string[] {
  const { shows } = (EVENTS as Partial<Record<string, { readonly shows: readonly string[] }>>)[type] ?? {
    shows: [],
  };
  return shows.flatMap((field) => {
    const value = data[field];
    return value === null || value === undefined ? [] : shown(field, value).replaceAll(/\p{Cc}/gu, '\ufffd');
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
  ...callEventIds,
  ...budgetEventIds,
  ...computerEventIds,
  ...videoEventIds,
  ...accountEventIds,
  ...adminEventIds,
} as const;
