// Builds billing from its arguments: main.ts passes the real ones, tests pass theirs.
import type { commonConfig, Running, ServiceDeps } from '@switchyard/service';
import { booksGauges } from './audit/watch-gauges.ts';
import type { Config } from './config.ts';
import { Owners } from './partitions/owners.ts';
import { databaseUrl } from './store/database-url.ts';
import { connectWhenThere, databaseOf, makeMongoClient, openStore } from './store/store.ts';

/**
 * An instance is ready when it serves. A standby instance is ready this long after its start: by then the lease of a
 * dead owner has expired.
 */
const STANDBY_AFTER_MS = 6_000;
const MS_PER_S = 1_000;

type BillingOptions = Pick<
  ServiceDeps<Omit<Config, keyof typeof commonConfig>>,
  'config' | 'bus' | 'logger' | 'clock'
> &
  Partial<Pick<ServiceDeps<Config>, 'metrics'>> & {
    /** Milliseconds without change after which a surplus partition is returned. */
    readonly unchangedMs?: number;
  };

/** Starts billing. Resolves when it serves or is on standby. Waits for the database without limit. */
export async function startBilling({
  config,
  bus,
  logger,
  clock,
  metrics,
  unchangedMs,
}: BillingOptions): Promise<Running> {
  const url = databaseUrl(config);
  const client = makeMongoClient(url);
  const store = openStore(databaseOf(client, url));
  const stopping = new AbortController();
  const settled = Promise.withResolvers<void>();
  const cancel = clock.after(STANDBY_AFTER_MS, settled.resolve);
  const owners = new Owners({
    ...{ bus, store, logger, clock, onSettled: settled.resolve },
    ...{ logDays: config.SWITCHYARD_LOG_DAYS, signal: stopping.signal },
    auditEveryMs: config.SWITCHYARD_AUDIT_SECONDS * MS_PER_S,
    ...(unchangedMs === undefined ? {} : { unchangedMs }),
  });
  if (metrics) booksGauges(metrics, () => owners.watches);
  const owning = connectWhenThere(client, { logger, signal: stopping.signal }).then(() => owners.run());
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
