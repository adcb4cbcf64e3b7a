// Builds billing from its arguments; main.ts gives the real ones, tests give theirs.
import type { commonConfig, Running, Surroundings } from '@switchyard/service';
import { booksGauges } from './audit/watch-gauges.ts';
import type { Config } from './config.ts';
import { Owners } from './partitions/owners.ts';
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
  Partial<Pick<Surroundings<Config>, 'metrics'>> & {
    /** Milliseconds at rest after which a partition too many is given back. */
    readonly restMs?: number;
  };

/** Starts billing; resolves when it serves, or stands by. It waits for the database for as long as it takes. */
export async function startBilling({
  config,
  bus,
  logger,
  clock,
  metrics,
  restMs,
}: BillingOptions): Promise<Running> {
  const client = makeMongoClient(config.MONGODB_URL);
  const store = openStore(databaseOf(client, config.MONGODB_URL));
  const stopping = new AbortController();
  const settled = Promise.withResolvers<void>();
  const cancel = clock.after(STANDBY_AFTER_MS, settled.resolve);
  const owners = new Owners({
    ...{ bus, store, logger, clock, onSettled: settled.resolve },
    ...{ logDays: config.SWITCHYARD_LOG_DAYS, signal: stopping.signal },
    auditEveryMs: config.SWITCHYARD_AUDIT_SECONDS * MS_PER_S,
    ...(restMs === undefined ? {} : { restMs }),
  });
  if (metrics) booksGauges(metrics, () => owners.watches);
  const owning = owners.run();
  await settled.promise;
  cancel();
  return {
    async stop() {
      stopping.abort();
      await owning;
      await client.close();
    },
  };
}
