// Which service may do what on the bus. The contracts name the callers of operations and the publishers of events; these
// tables name the rest, with a row for each bucket and object store: a new one does not compile until its row says who uses
// it. permissions.ts turns all of it into the permissions of NATS users.
import {
  COUNT_TOKENS_SUBJECT,
  type EventStream,
  FILE_CONTENT_SUBJECT,
  FILE_STORE_SUBJECT,
  HOST_EVENTS_STREAM,
  type HostOperationName,
  type HostStreamName,
  RECEIPTS_STREAM,
  type ServiceName,
  VIDEO_CONTENT_SUBJECT,
  VIDEO_CREATE_SUBJECT,
} from '@switchyard/contracts';
import type { BucketName } from './buckets.ts';
import type { ObjectStoreName } from './objects.ts';

type Services = readonly ServiceName[];
const EDGE: Services = ['edge'];

/** Who calls computer hosts. */
export const HOST_CALLERS: Readonly<Record<HostOperationName | HostStreamName, Services>> = {
  create: ['control'],
  start: EDGE,
  stop: ['edge', 'control'],
  delete: ['control'],
  exec: EDGE,
  'exec-get': EDGE,
  'exec-list': EDGE,
  'file-delete': EDGE,
  metrics: EDGE,
  'create-stream': ['control'],
  upload: ['control'],
  'exec-stream': EDGE,
  'file-read': EDGE,
  'file-write': EDGE,
  port: EDGE,
  terminal: EDGE,
};

/** Who makes other calls whose bodies are streams. permissions.test.ts checks it against the contracts. */
export const STREAM_CALLERS: Readonly<Record<string, Services>> = {
  'model-router.v1.*.call': EDGE,
  [COUNT_TOKENS_SUBJECT]: EDGE,
  [VIDEO_CREATE_SUBJECT]: EDGE,
  [VIDEO_CONTENT_SUBJECT]: EDGE,
  [FILE_STORE_SUBJECT]: EDGE,
  [FILE_CONTENT_SUBJECT]: EDGE,
  'control.v1.computers.create-stream': EDGE,
};

/** `read`: at its own pace, without acknowledgements. `consume`: with durable consumers that it acknowledges. */
type StreamUse = 'read' | 'consume';
/** Who reads each stream. */
export const STREAM_READERS: Readonly<
  Record<
    EventStream | typeof HOST_EVENTS_STREAM | typeof RECEIPTS_STREAM,
    Partial<Record<ServiceName, StreamUse>>
  >
> = {
  EVENTS: { edge: 'read', control: 'consume', 'video-worker': 'consume', billing: 'consume' },
  REFUSALS: { edge: 'read', control: 'consume', billing: 'consume' },
  [HOST_EVENTS_STREAM]: { control: 'consume' },
  [RECEIPTS_STREAM]: { billing: 'read' },
};

/**
 * `own-key`: reads and writes only the key of its host; `own-keys`: only keys under it. Every other use includes reading all.
 * `consume`: takes the events that writes carry, with a durable consumer.
 */
type BucketUse = 'read' | 'watch' | 'write' | 'own-key' | 'own-keys' | 'consume';
/** Who uses each bucket. */
export const BUCKET_USERS: Readonly<Record<BucketName, Partial<Record<ServiceName, readonly BucketUse[]>>>> =
  {
    keys: { control: ['watch', 'write', 'consume'], edge: ['watch'], billing: ['watch'] },
    orgs: { control: ['watch', 'write', 'consume'], edge: ['watch'], billing: ['watch'] },
    'provider-keys': { control: ['write', 'consume'], 'model-router': ['watch'], 'video-worker': ['watch'] },
    system: { edge: ['write'] },
    hosts: { 'computer-agent': ['own-key'], control: ['watch'], edge: ['watch'] },
    'host-orders': { 'computer-agent': ['read'], control: ['write'] },
    leases: { billing: ['write'] },
    'computer-placements': { control: ['write'], edge: ['read'], billing: ['watch'] },
    computers: { 'computer-agent': ['own-keys'], control: ['write'], edge: ['read'] },
    videos: { 'video-worker': ['watch', 'write'], control: ['read'] },
    'computer-minutes': { control: ['write'] },
    'computer-slots': { control: ['write'] },
    files: { control: ['write'] },
    'file-usage': { control: ['write'] },
    webhooks: { control: ['watch', 'write', 'consume'] },
    'webhook-secrets': { control: ['write', 'consume'] },
    'webhook-deliveries': { control: ['write'] },
    idempotency: { edge: ['write'] },
    'idempotency-usage': { edge: ['write'] },
    'spent-tokens': { edge: ['watch', 'write'] },
  };

/** The buckets whose writes carry events, which control publishes. */
export const BUCKETS_WITH_EVENTS = (Object.keys(BUCKET_USERS) as BucketName[]).filter((name) =>
  BUCKET_USERS[name].control?.includes('consume'),
);

/** Who reads and writes each object store. */
export const OBJECT_STORE_USERS: Readonly<Record<ObjectStoreName, Services>> = {
  files: ['control'],
  'video-inputs': ['video-worker'],
  'video-results': ['video-worker'],
  idempotency: EDGE,
};
