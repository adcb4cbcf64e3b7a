// The owner of the first partition writes the audit log from its events and removes lines past AUDIT_LOG_DAYS. It has
// a consumer of its own: a booking that waits does not delay it.
import type { JsMsg } from '@nats-io/jetstream';
import { AUDIT_LOG_DAYS } from '@switchyard/contracts';
import { passed, systemClock } from '@switchyard/service';
import { eachBatch } from './booking.ts';
import { ensureAuditConsumer } from './consumer.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { readBatch } from './read-batch.ts';
import { answered } from './store/answered.ts';
import { auditRowOf, isAudited, writeAuditRows } from './store/audit-rows.ts';

/** Pause before reading the stream again after a failure. */
const AGAIN_MS = 1_000;
const SWEEP_EVERY_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;

type KeepAuditLogDeps = Pick<PartitionDeps, 'bus' | 'store' | 'progress' | 'clock' | 'logger' | 'signal'>;

/** Writes until the signal is aborted. Never throws: failures are retried without limit. */
export async function keepAuditLog(deps: KeepAuditLogDeps): Promise<void> {
  const { bus, logger, signal } = deps;
  while (!signal.aborted)
    try {
      const consumer = await ensureAuditConsumer(bus);
      await eachBatch(consumer, deps, (messages) => writeBatch(messages, deps));
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'the audit log could not be written; it is tried again');
      await passed(AGAIN_MS, systemClock, signal);
    }
}

/** A failed batch is not acknowledged, so it is redelivered. Booking keeps what is no event of ours. */
async function writeBatch(messages: readonly JsMsg[], { store, logger }: KeepAuditLogDeps): Promise<void> {
  const { events } = readBatch(messages, logger);
  await writeAuditRows(store, events.filter(isAudited).map(auditRowOf));
  for (const message of messages) message.ack();
}

/** Sweeps at once and then every hour until the signal is aborted. Never throws. */
export async function removeOldAuditRows(
  deps: Pick<PartitionDeps, 'store' | 'clock' | 'logger' | 'signal'>,
): Promise<void> {
  const { store, clock, logger, signal } = deps;
  while (!signal.aborted) {
    const before = new Date(clock.now() - AUDIT_LOG_DAYS * DAY_MS);
    await answered(store.auditLog.deleteMany({ at: { $lt: before } })).catch((error: unknown) =>
      logger.warn(
        { err: error },
        'old lines of the audit log were not removed; it is tried again in an hour',
      ),
    );
    await passed(SWEEP_EVERY_MS, clock, signal);
  }
}
