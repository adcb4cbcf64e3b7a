// Builds the video-worker and starts it.
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createEventPublisher,
  ensureEventsStream,
  mirrorBucket,
  openBucket,
  openObjectStore,
  serve,
} from '@switchyard/bus';
import { createEgress } from '@switchyard/egress';
import {
  ADAPTERS,
  createVideoMakers,
  loadCatalog,
  openProviderKeys,
  SHIPPED_CATALOGS,
  secretOf,
} from '@switchyard/model-router/video';
import { ByteBudget, type Running, type ServiceDeps, watchByteBudget } from '@switchyard/service';
import { HoldKeeper } from '@switchyard/spending';
import type { Config } from './config.ts';
import { InputStore } from './input/input-store.ts';
import { needsWork } from './jobs/advance.ts';
import { followCharges } from './jobs/charges.ts';
import type { JobDeps } from './jobs/job-deps.ts';
import { ensureRecord } from './jobs/new-record.ts';
import { startWorker } from './jobs/worker.ts';
import { register } from './register.ts';

const MINUTE_MS = 60_000;
/** A rendering takes less time than this. An older folder belongs to a worker that died. */
const LEFT_OVER_AFTER_MS = 60 * MINUTE_MS;

type StartDeps = Pick<ServiceDeps<Config>, 'config' | 'bus' | 'logger' | 'clock' | 'metrics'>;

export async function start({ config, bus, logger, clock, metrics }: StartDeps): Promise<Running> {
  const keys = await openProviderKeys({
    bus,
    secret: config.SWITCHYARD_PROVIDERS_SECRET,
    environment: (name) => secretOf(config, name),
  });
  const { secret, locked, redactKeys } = keys;
  const renderings = join(config.SWITCHYARD_DATA, 'video-worker');
  await removeLeftovers(renderings, clock.now() - LEFT_OVER_AFTER_MS);
  const folder = join(renderings, bus.instance);
  const egress = createEgress({ allow: config.SWITCHYARD_EGRESS_ALLOW });
  const makers = createVideoMakers({ secret, now: clock.now, egress, folder });
  const files = [...SHIPPED_CATALOGS, ...config.SWITCHYARD_CATALOG];
  const catalog = loadCatalog({ files, makers: ADAPTERS, secret, locked });
  await ensureEventsStream(bus);
  const outboxDir = join(config.SWITCHYARD_DATA, 'outbox', 'video-worker');
  const events = await createEventPublisher({ bus, outboxDir, logger });
  const videos = await openBucket(bus, 'videos');
  const inputs = new InputStore(await openObjectStore(bus, 'video-inputs'));
  const results = await openObjectStore(bus, 'video-results');
  const largeBodies = ByteBudget.of(config, clock);
  watchByteBudget(metrics, largeBodies);
  const holds = new HoldKeeper({ bus, logger });
  const stopping = new AbortController();
  const deps: JobDeps = {
    ...{ videos, inputs, results, events, catalog, redactKeys, clock, logger },
    makers: makers.byName,
    largeBodies,
    resultBytesMax: config.SWITCHYARD_VIDEO_BYTES_MAX,
    stopping: stopping.signal,
  };
  // Finished jobs, of the last 30 days, take no memory.
  const openJobs = await mirrorBucket(bus, videos, { keeps: needsWork });
  const worker = startWorker({ openJobs, instance: bus.instance, deps });
  const charges = followCharges({ bus, clock, logger, take: (event) => ensureRecord(deps, event) });
  const service = await serve(bus, {
    name: 'video-worker',
    version: '0.1.0',
    description:
      'Video jobs from their start to their result: charged once, started once, refunded when they fail.',
  });
  register(service, {
    ...{ bus, videos, inputs, results, events, catalog, clock, logger },
    ...{ holds, largeBodies, openJobs },
    egress,
    resultBytesMax: deps.resultBytesMax,
    jobMsMax: config.SWITCHYARD_VIDEO_MINUTES_MAX * MINUTE_MS,
  });
  return {
    async stop() {
      stopping.abort(new Error('the worker is stopping'));
      // A slow reader of a video must not keep the jobs from other workers.
      await Promise.all([service.drain(), charges.stop(), worker.stop()]);
      openJobs.close();
      holds.stop();
      await events.close();
      await makers.close();
      keys.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Removes unfinished renderings of killed workers. */
async function removeLeftovers(folder: string, changedBefore: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const changedAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => changedBefore,
    ); // another worker removed it first
    if (changedAt < changedBefore) await rm(path, { recursive: true, force: true });
  }
}
