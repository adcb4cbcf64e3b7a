// The owner of the first partition writes the log rows of calls that reached no model. Their events have a stream of
// their own, which may discard them: they charge nothing and never delay charges.
import type { JsMsg } from '@nats-io/jetstream';
import { sleep, systemClock } from '@switchyard/service';
import { eachBatch } from './booking.ts';
import { ensureRefusalsConsumer } from './consumer.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { entriesOf, readBatch } from './read-batch.ts';
import { answered } from './store/answered.ts';
import { planBatch } from './store/batch-plan.ts';
import { writeLogs } from './store/log-writer.ts';
import { reject } from './store/rejected.ts';

/** Pause before reading the stream again after a failure. */
const RETRY_DELAY_MS = 1_000;

type LogRefusalsDeps = Pick<PartitionDeps, 'bus' | 'store' | 'progress' | 'logger' | 'signal'>;

/** Writes log rows until the signal is aborted. Never throws: failures are retried without limit. */
export async function logRefusals(deps: LogRefusalsDeps): Promise<void> {
  const { bus, logger, signal } = deps;
  while (!signal.aborted)
    try {
      await eachBatch(await ensureRefusalsConsumer(bus), deps, (messages) => logBatch(messages, deps));
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'refused calls could not be logged; retrying');
      await sleep(RETRY_DELAY_MS, systemClock, signal);
    }
}

async function logBatch(messages: readonly JsMsg[], { store, logger }: LogRefusalsDeps): Promise<void> {
  const { read, rejected } = readBatch(messages, logger);
  await reject(store, [...rejected.values()], logger);
  await answered(writeLogs(store, planBatch(entriesOf(read), [])));
  for (const message of messages)
    if (rejected.has(message)) message.term('rejected by billing');
    else message.ack();
}
