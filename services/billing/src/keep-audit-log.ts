// The owner of the first partition writes the audit log from its events. It has a consumer of its own: a booking that
// waits does not delay it.
import { keepTaking } from './booking.ts';
import { ensureAuditConsumer } from './consumer.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { readBatch } from './read-batch.ts';
import { auditRowOf, isAudited, writeAuditRows } from './store/audit-rows.ts';

type KeepAuditLogDeps = Pick<PartitionDeps, 'bus' | 'store' | 'progress' | 'logger' | 'signal'>;

/** Writes until the signal is aborted. Booking keeps what is no event of ours. */
export function keepAuditLog({ store, ...deps }: KeepAuditLogDeps): Promise<void> {
  const failed = 'the audit log could not be written; it is tried again';
  return keepTaking({ ...deps, ensure: ensureAuditConsumer, failed }, async (messages) => {
    const { events } = readBatch(messages, deps.logger);
    await writeAuditRows(store, events.filter(isAudited).map(auditRowOf));
    for (const message of messages) message.ack();
  });
}
