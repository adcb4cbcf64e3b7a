// Builds the edge from its parts.
import { join } from 'node:path';
import {
  ADOPT_MS,
  createEventPublisher,
  type EventPublisher,
  ensureEventsStream,
  mirrorBucket,
  openBucket,
  openObjectStore,
} from '@switchyard/bus';
import { eventIds, makeEvent } from '@switchyard/contracts';
import {
  ByteBudget,
  type Clock,
  type Logger,
  type Running,
  type Surroundings,
  watchByteBudget,
} from '@switchyard/service';
import { authenticator, hashAuthenticator } from './auth/authenticate.ts';
import { OpenRelays } from './auth/open-relays.ts';
import { Spending } from './auth/spending.ts';
import { modelCallRoutes } from './calls/model-call-routes.ts';
import { transcriptionRoutes } from './calls/transcription/transcription-route.ts';
import { hostFinder } from './computers/find-host.ts';
import { LinkSigner } from './computers/link-signer.ts';
import type { Config } from './config.ts';
import { buildApp, EVENT_SOURCE } from './http/app.ts';
import type { Route } from './http/route.ts';
import { Upgrades } from './http/upgrades.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { KeptRequests } from './idempotency/kept-requests.ts';
import { DeliveryJournal, findOrphans } from './journal/delivery-journal.ts';
import { Receipts } from './receipts/receipts.ts';
import { receiptsGauges } from './receipts/receipts-gauges.ts';
import { accountRoutes } from './routes/account.ts';
import { computerConnectionRoutes, UPGRADE_PATHS } from './routes/computer-connections.ts';
import { computerCreationRoutes } from './routes/computer-creation.ts';
import { computerExecRoutes } from './routes/computer-execs.ts';
import { computerFileRoutes } from './routes/computer-files.ts';
import { computerRoutes } from './routes/computers.ts';
import { docsRoutes } from './routes/docs.ts';
import { fileRoutes } from './routes/files.ts';
import { healthRoutes } from './routes/health.ts';
import { keyRoutes } from './routes/keys.ts';
import { modelRoutes } from './routes/models.ts';
import { statementRoutes } from './routes/statements.ts';
import { usageRoutes } from './routes/usage.ts';
import { videoRoutes } from './routes/videos.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { ensureUrlSecret, UrlSigner } from './videos/url-signer.ts';

export interface RunningEdge extends Running {
  /** http://host:port, with the port that was really taken. */
  url: string;
}

export async function start({
  config,
  bus,
  logger,
  clock,
  metrics,
}: Surroundings<Config>): Promise<RunningEdge> {
  await ensureEventsStream(bus);
  const outboxDir = join(config.SWITCHYARD_DATA, 'outbox', 'edge');
  const events = await createEventPublisher({ bus, outboxDir, logger });
  const journalFolder = join(config.SWITCHYARD_DATA, 'journal');
  const journal = new DeliveryJournal(journalFolder);
  bus.publisher.onBeforeFlush(() => journal.flush());
  const takeBack = () => voidOrphans(journalFolder, { events, clock, logger });
  await takeBack();
  const watching = setInterval(() => void takeBack(), ADOPT_MS);
  const keys = await mirrorBucket(bus, await openBucket(bus, 'keys'), { tick: true });
  const computersOn = config.SWITCHYARD_COMPUTERS !== 'off';
  const computers = await openBucket(bus, 'computers');
  const hosts = await openBucket(bus, 'hosts');
  const beats = await mirrorBucket(bus, hosts, { tick: false });
  const findHost = hostFinder({ computers, enabled: computersOn, hosts, beats, clock });
  const now = () => clock.now();
  const open = new OpenRelays(clock);
  keys.onChange((_hash, record, previous) => {
    if (record) open.changed(record);
    else if (previous) open.revoke(previous);
  });
  const urlSecret =
    config.SWITCHYARD_URL_SECRET ?? (await ensureUrlSecret(await openBucket(bus, 'system'), clock.now()));
  const upgrades = new Upgrades(UPGRADE_PATHS);
  const signer = new UrlSigner(urlSecret, now);
  const orgs = await mirrorBucket(bus, await openBucket(bus, 'orgs'), { tick: true });
  const spending = new Spending(orgs);
  const receipts = new Receipts({ bus, folder: join(config.SWITCHYARD_DATA, 'receipts'), clock, logger });
  receiptsGauges(metrics, receipts);
  const largeBodies = ByteBudget.of(config, clock);
  watchByteBudget(metrics, largeBodies);
  const relay = { bus, open, events, journal, receipts, largeBodies, spending, clock, logger };
  const routes: Route[] = [
    ...modelCallRoutes(relay),
    ...transcriptionRoutes(relay),
    ...modelRoutes(bus),
    ...computerCreationRoutes({ bus, open, findHost, spending, enabled: computersOn, clock }),
    ...computerRoutes({ bus, findHost, spending, enabled: computersOn }),
    ...computerExecRoutes({ bus, open, findHost, clock }),
    ...computerFileRoutes({ bus, open, findHost, clock }),
    ...computerConnectionRoutes({
      bus,
      open,
      findHost,
      authenticateHash: hashAuthenticator({ keys, now }),
      links: new LinkSigner(urlSecret, now),
      upgrades,
      publicUrl: config.SWITCHYARD_PUBLIC_URL,
      clock,
    }),
    ...keyRoutes(bus),
    ...accountRoutes(bus),
    ...fileRoutes({ bus, open, clock }),
    ...webhookRoutes(bus),
    ...usageRoutes({ bus, clock }),
    ...statementRoutes(bus),
    ...videoRoutes({ bus, spending, receipts, signer, publicUrl: config.SWITCHYARD_PUBLIC_URL, clock }),
    ...healthRoutes(bus, metrics),
  ];
  const kept = new KeptRequests({
    bucket: await openBucket(bus, 'idempotency'),
    objects: await openObjectStore(bus, 'idempotency'),
    logger,
  });
  const idempotency = new Idempotency({ kept, clock });
  const authenticate = authenticator({ keys, now });
  const app = buildApp({
    routes: [...routes, ...docsRoutes(routes)],
    authenticate,
    events,
    largeBodies,
    idempotency,
    upgrades,
    clock,
    logger,
  });
  const url = await app.listen({ host: config.HOST, port: config.PORT });
  return {
    url,
    async stop() {
      clearInterval(watching);
      await app.close(); // no new connection; the requests that are on are answered
      await idempotency.idle();
      keys.close();
      orgs.close();
      beats.close();
      journal.close();
      await receipts.close();
      await events.close();
    },
  };
}

interface VoidOptions {
  events: EventPublisher;
  clock: Clock;
  logger: Logger;
}

/** The callers of an edge that was killed never got the answers that its journal has open: their charges go back. */
async function voidOrphans(folder: string, { events, clock, logger }: VoidOptions): Promise<void> {
  for (const { file, calls } of findOrphans(folder)) {
    const time = new Date(clock.now());
    const voids = calls.map(({ requestId, org }) => {
      const data = { request_id: requestId, org, reason: 'edge_lost' } as const;
      return makeEvent({
        name: 'call.voided',
        id: eventIds.voided(requestId),
        source: EVENT_SOURCE,
        time,
        data,
      });
    });
    await Promise.all(voids.map((event) => events.publish(event)));
    file.remove(); // they are durable
    if (calls.length > 0) logger.warn({ calls: calls.length }, 'calls of an edge that died were voided');
  }
}
