// The bus, typed: calls as duplex byte streams, JSON operations on top of them, events, KV buckets, leases.
export { BUCKETS_WITH_EVENTS } from './access.ts';
export type { ByteSource } from './body-source.ts';
export { Bucket, type Entry, openBucket, RevisionConflict } from './bucket.ts';
export { BUCKETS } from './buckets.ts';
export { Bus, connectBus } from './bus.ts';
export { bytesLeft } from './bytes-left.ts';
export { FROM_PUBLISHER } from './call-subjects.ts';
export type { CallHandler } from './callee.ts';
export { eventsOfEntry } from './entry-headers.ts';
export { lastSequence, openEventReader } from './event-reader.ts';
export {
  createEventPublisher,
  DUPLICATE_WINDOW_NS,
  type EventPublisher,
  ensureEventsStream,
  ensureHostEventsStream,
  ensureReceiptsStream,
  publishEvent,
} from './events.ts';
export {
  type Delivery,
  deleteConsumer,
  FEED_ACK_WAIT_MS,
  Feed,
  type FeedOptions,
  type Verdict,
} from './feed.ts';
export type { IncomingCall } from './incoming-call.ts';
export { type Lease, takeLease } from './lease.ts';
export { Mirror, mirrorBucket, TICK_MS } from './mirror.ts';
export { natsUrl, readNatsUrl, withCredentials } from './nats-url.ts';
export { ObjectGone } from './object-errors.ts';
export { ObjectStore, ORPHAN_GRACE_MS, openObjectStore } from './object-store.ts';
export { OBJECT_STORES } from './objects.ts';
export {
  type Handlers,
  type OperationContext,
  type OperationHandler,
  readRequest,
  request,
  requestHost,
  requestHostBytes,
  requestWhole,
  ServiceHost,
  serve,
} from './operations.ts';
export { NobodyThere, type OutgoingCall, type ReplySink } from './outgoing-call.ts';
export { ADOPT_MS, adoptOrphans, appendWhole, type OwnFile, ownFile } from './own-file.ts';
export { readEvent } from './read-event.ts';
export { REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX } from './refused-rows.ts';
export { openReply, type Reply } from './reply.ts';
export { unbookedShare } from './unbooked-share.ts';
