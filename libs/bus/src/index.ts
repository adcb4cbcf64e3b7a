// The bus, typed: calls as duplex byte streams, JSON operations on top of them, events, KV buckets, leases.
export type { ByteSource } from './body-source.ts';
export { Bucket, type Entry, openBucket, RevisionConflict, TICK_KEY } from './bucket.ts';
export { BUCKETS, type BucketName, type BucketValue } from './buckets.ts';
export { Bus, type BusOptions, connectBus, type Logger } from './bus.ts';
export type { CallHandler, IncomingCall, ServiceInfo } from './callee.ts';
export type { CallRequest, OutgoingCall, ReplySink } from './caller.ts';
export { type EventReader, lastSequence, openEventReader } from './event-reader.ts';
export { createEventPublisher, type EventPublisher, ensureEventsStream, publishEvent } from './events.ts';
export { holdLease, type Lease, takeLease } from './lease.ts';
export { Mirror, mirrorBucket, TICK_MS } from './mirror.ts';
export { natsUrl, readNatsUrl } from './nats-url.ts';
export {
  type ByteRange,
  ObjectGone,
  type ObjectInfo,
  ObjectStore,
  ORPHAN_GRACE_MS,
  openObjectStore,
  type StoredObject,
} from './object-store.ts';
export { OBJECT_STORES, type ObjectStoreName } from './objects.ts';
export {
  type OperationContext,
  REQUEST_TIMEOUT_MS_DEFAULT,
  type RequestOptions,
  readRequest,
  request,
  requestHost,
  requestHostBytes,
  requestWhole,
  ServiceHost,
  serve,
} from './operations.ts';
export { ADOPT_MS, adoptOrphans, type OwnFile, ownFile } from './own-file.ts';
export { readEvent } from './read-event.ts';
export { ensureReceiptsStream } from './receipts-stream.ts';
export { openReply, type Reply } from './reply.ts';
export { unbookedShare } from './unbooked-share.ts';
