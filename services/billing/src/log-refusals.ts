// The owner of the first partition writes the log rows of calls that reached no model. Their events have a stream of
// their own, which may discard them: they charge nothing and never delay charges.
import { keepTaking } from './booking.ts';
import { ensureRefusalsConsumer } from './consumer.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { readBatch } from './read-batch.ts';
import { answered } from './store/answered.ts';
import { planBatch } from './store/batch-plan.ts';
import { writeLogs } from './store/log-writer.ts';
import { reject } from './store/rejected.ts';

type LogRefusalsDeps = Pick<PartitionDeps, 'bus' | 'store' | 'progress' | 'logger' | 'signal'>;

/** Writes log rows until the signal is aborted. */
export function logRefusals({ store, ...deps }: LogRefusalsDeps): Promise<void> {
  const failed = 'refused calls could not be logged; it is tried again';
  return keepTaking({ ...deps, ensure: ensureRefusalsConsumer, failed }, async (messages) => {
    const { entries, rejected, rejectedMessages } = readBatch(messages, deps.logger);
    await reject(store, rejected, deps.logger);
    await answered(writeLogs(store, planBatch(entries, [])));
    const unread = new Set(rejectedMessages);
    for (const message of messages)
      if (unread.has(message)) message.term('rejected by billing');
      else message.ack();
  });
}
