// The permissions of each NATS user, from the operations and events of the contracts and the tables of access.ts: what
// it may publish, and what it may subscribe to. Everything else is refused by nats-server.
import {
  ALL_PLACES,
  EVENT_STREAMS,
  EVENTS,
  eventSubjectOfHost,
  HOST_EVENTS_STREAM,
  HOST_SERVICE,
  hostSubject,
  OPERATIONS,
  type OperationName,
  operationPattern,
  RATE_LIMITS_SUBJECTS,
  RECEIPTS_STREAM,
  RECEIPTS_SUBJECTS,
  rateLimitsSubject,
  SERVICE_NAMES,
  type ServiceName,
} from '@switchyard/contracts';
import { BUCKET_USERS, HOST_CALLERS, OBJECT_STORE_USERS, STREAM_CALLERS, STREAM_READERS } from './access.ts';

/** The user of operators and their programs: it may do everything. */
export const OPERATOR = 'operator';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** @param user name of its NATS user: that of the service, or for an agent the id of its host */
export function permissionsOf(service: ServiceName, user: string): Permissions {
  return {
    publish: [
      // Replies, frames and heartbeats, under its own name (call-subjects.ts).
      `_C.${user}.>`,
      `_S.*.*.${user}.>`,
      `_HB.${user}.*`,
      // Answers to `nats micro` of an operator.
      `_INBOX.${OPERATOR}.>`,
      '$JS.API.INFO',
      ...calls(service, user),
      ...(service === 'edge' ? [rateLimitsSubject(`${user}.*`)] : []),
      ...events(service),
      ...(service === HOST_SERVICE ? [eventSubjectOfHost(user)] : []),
      ...streams(service),
      ...buckets(service, user),
      ...objectStores(service),
    ],
    subscribe: [
      `_C.*.${user}.>`,
      `_S.${user}.>`,
      `_S.all.${user}.>`,
      '_HB.*.*',
      `_INBOX.${user}.>`,
      '$SRV.>',
      service === HOST_SERVICE ? `${service}.v1.${user}.>` : `${service}.v1.>`,
      ...(service === 'edge' ? [RATE_LIMITS_SUBJECTS] : []),
    ],
  };
}

/** Whether a user name is that of a service. Other users are hosts, or OPERATOR. */
export function isServiceName(user: string): user is ServiceName {
  return (SERVICE_NAMES as readonly string[]).includes(user);
}

function calls(service: ServiceName, user: string): string[] {
  return [
    ...(Object.keys(OPERATIONS) as OperationName[])
      .filter((name) => OPERATIONS[name].callers.includes(service))
      .map((name) => operationPattern(name, ALL_PLACES, user)),
    ...namesFor(HOST_CALLERS, service).map((verb) => hostSubject('*', verb as keyof typeof HOST_CALLERS)),
    ...namesFor(STREAM_CALLERS, service),
  ];
}

function events(service: ServiceName): string[] {
  const published = Object.entries(EVENTS).filter(([, { by }]) => by === service);
  return published.map(([name]) => `event.v1.${name}.>`);
}

function streams(service: ServiceName): string[] {
  // The state of the streams of events has the ids of all orgs, and how many events each has.
  const eventStreams = service === HOST_SERVICE ? [] : EVENT_STREAMS.map(({ stream }) => stream);
  const names = [...eventStreams, HOST_EVENTS_STREAM];
  const readable = Object.entries(STREAM_READERS).filter(([, readers]) => service in readers);
  return [
    // Every service ensures that these streams exist, and checks that they answer.
    ...names.flatMap(opening),
    ...(service === 'control' ? names.map((stream) => `$JS.API.STREAM.UPDATE.${stream}`) : []),
    ...(service === 'edge' ? [RECEIPTS_SUBJECTS] : []),
    ...(service === 'edge' || service === 'billing' ? opening(RECEIPTS_STREAM) : []),
    ...readable.flatMap(([stream, readers]) => [
      `$JS.API.STREAM.MSG.GET.${stream}`,
      ...consumers(stream),
      ...(readers[service] === 'consume' ? [`$JS.ACK.${stream}.>`] : []),
    ]),
  ];
}

/** Creates, reads and deletes consumers of a stream. */
function consumers(stream: string): string[] {
  return [
    `$JS.API.CONSUMER.*.${stream}`,
    `$JS.API.CONSUMER.*.${stream}.>`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.*`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
    `$JS.FC.${stream}.>`,
  ];
}

function buckets(service: ServiceName, user: string): string[] {
  return Object.entries(BUCKET_USERS).flatMap(([bucket, users]) => {
    const uses = users[service];
    if (!uses) return [];
    const stream = `KV_${bucket}`;
    if (uses.includes('own-key') || uses.includes('own-keys')) {
      const own = `$KV.${bucket}.${user}${uses.includes('own-keys') ? '.>' : ''}`;
      return [...opening(stream), own, `$JS.API.DIRECT.GET.${stream}.${own}`];
    }
    return [
      ...readingStream(stream),
      ...(uses.includes('watch') || uses.includes('consume') ? consumers(stream) : []),
      ...(uses.includes('consume') ? [`$JS.ACK.${stream}.>`] : []),
      ...(uses.includes('write') ? [`$KV.${bucket}.>`] : []),
    ];
  });
}

function objectStores(service: ServiceName): string[] {
  return namesFor(OBJECT_STORE_USERS, service).flatMap((store) => {
    const stream = `OBJ_${store}`;
    return [...readingStream(stream), `$JS.API.STREAM.PURGE.${stream}`, `$O.${store}.>`];
  });
}

/** Creates a stream with its bounds on a new installation, and asks for its state and the names of its keys. */
function opening(stream: string): string[] {
  return [`$JS.API.STREAM.CREATE.${stream}`, `$JS.API.STREAM.INFO.${stream}`];
}

/** Opens a stream and reads its messages. */
function readingStream(stream: string): string[] {
  return [
    ...opening(stream),
    `$JS.API.STREAM.MSG.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.>`,
  ];
}

function namesFor(table: Readonly<Record<string, readonly ServiceName[]>>, service: ServiceName): string[] {
  return Object.entries(table).flatMap(([name, services]) => (services.includes(service) ? [name] : []));
}
