// Builds billing from its arguments; main.ts gives the real ones, tests give theirs.
import type { commonConfig, Running, Surroundings } from '@switchyard/service';
import type { BooksWatch } from './audit/watch.ts';
import { booksGauges } from './audit/watch-gauges.ts';
import type { Config } from './config.ts';
import { ownPartition } from './owner.ts';
import { databaseOf, makeMongoClient, openStore } from './store/store.ts';

/**
 * An instance is ready when it serves. One that another keeps out is ready too, as a stand-by: this long after its
 * start (a lease of a dead owner has run out by then).
 */
const STANDBY_AFTER_MS = 6_000;
const MS_PER_S = 1_000;

export type BillingOptions = Pick<
  Surroundings<Omit<Config, keyof typeof commonConfig>>,
  'config' | 'bus' | 'logger' | 'clock'
> &
  Partial<Pick<Surroundings<Config>, 'metrics'>>;

/** Starts billing; resolves when it serves, or stands by. It waits for the database for as long as it takes. */
export async function startBilling({
  config,
  bus,
  logger,
  clock,
  metrics,
}: BillingOptions): Promise<Running> {
  const client = makeMongoClient(config.MONGODB_URL);
  const store = openStore(databaseOf(client, config.MONGODB_URL));
  const stopping = new AbortController();
  let watch: BooksWatch | null = null;
  if (metrics) booksGauges(metrics, () => watch);
  let owning: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve) => {
    const cancel = clock.after(STANDBY_AFTER_MS, resolve);
    const onServing = () => {
      cancel();
      resolve();
    };
    owning = ownPartition({
      ...{ bus, store, logger, clock, onServing },
      ...{ logDays: config.SWITCHYARD_LOG_DAYS, signal: stopping.signal },
      auditEveryMs: config.SWITCHYARD_AUDIT_SECONDS * MS_PER_S,
      onWatch: (current) => {
        watch = current;
      },
    });
  });
  return {
    async stop() {
      stopping.abort();
      await owning;
      await client.close();
    },
  };
}
