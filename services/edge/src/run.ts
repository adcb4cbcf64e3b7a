// Assembles the edge from its parts.
import { join } from 'node:path';
import {
  type Bus,
  createEventPublisher,
  ensureEventsStream,
  mirrorBucket,
  openBucket,
} from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import {
  ByteBudget,
  type Clock,
  countDroppedRefusals,
  type Running,
  type ServiceDeps,
  watchByteBudget,
} from '@switchyard/service';
import { openCallers } from './auth/open-callers.ts';
import { Spending } from './auth/spending.ts';
import { ensureUrlSecret } from './auth/url-secret.ts';
import { BookingGate } from './backlog/booking-gate.ts';
import { modelCallRoutes } from './calls/model-call-routes.ts';
import { transcriptionRoutes } from './calls/transcription/transcription-route.ts';
import { hostFinder } from './computers/find-host.ts';
import { linkTokens } from './computers/link-tokens.ts';
import { routedUrl } from './computers/port-path.ts';
import type { Config } from './config.ts';
import { buildApp } from './http/app.ts';
import { ArrivingBodies } from './http/arriving-bodies.ts';
import { BodyChecker } from './http/body-checker.ts';
import type { Route } from './http/route.ts';
import { Upgrades } from './http/upgrades.ts';
import { openIdempotency } from './idempotency/open-idempotency.ts';
import { openJournal } from './journal/open-journal.ts';
import { AdmissionQueue } from './overload/admission-queue.ts';
import { openRateLimits } from './rate-limits/open-rate-limits.ts';
import { Receipts } from './receipts/receipts.ts';
import { receiptsGauges } from './receipts/receipts-gauges.ts';
import { accountRoutes } from './routes/account.ts';
import { computerConnectionRoutes, UPGRADE_PATHS } from './routes/computer-connections.ts';
import { computerCreationRoutes } from './routes/computer-creation.ts';
import { computerExecRoutes } from './routes/computer-execs.ts';
import { computerFileRoutes } from './routes/computer-files.ts';
import { computerLinkRoutes } from './routes/computer-links.ts';
import { computerRoutes } from './routes/computers.ts';
import { consoleRoutes } from './routes/console.ts';
import { docsRoutes } from './routes/docs.ts';
import { eventRoutes } from './routes/events.ts';
import { fileRoutes } from './routes/files.ts';
import { healthRoutes } from './routes/health.ts';
import { keyRoutes } from './routes/keys.ts';
import { mcpRoutes } from './routes/mcp.ts';
import { modelRoutes } from './routes/models.ts';
import { orgRoutes } from './routes/orgs.ts';
import { providerRoutes } from './routes/providers.ts';
import { sessionRoutes } from './routes/session.ts';
import { statementRoutes } from './routes/statements.ts';
import { usageRoutes } from './routes/usage.ts';
import { videoRoutes } from './routes/videos.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { videoTokens } from './videos/video-tokens.ts';

export interface RunningEdge extends Running {
  /** http://host:port, with the actual port. */
  url: string;
}

export async function start({
  config,
  bus,
  logger,
  clock,
  metrics,
}: ServiceDeps<Config>): Promise<RunningEdge> {
  await ensureEventsStream(bus);
  const outboxDir = join(config.SWITCHYARD_DATA, 'outbox', 'edge');
  const events = await createEventPublisher({ bus, outboxDir, logger });
  const folder = join(config.SWITCHYARD_DATA, 'journal');
  const journals = await openJournal({ bus, folder, events, clock, logger });
  const publicUrl = config.SWITCHYARD_PUBLIC_URL;
  const computersOn = config.SWITCHYARD_COMPUTERS !== 'off';
  const { findHost, beats } = await openHosts(bus, clock, computersOn);
  const secret =
    config.SWITCHYARD_URL_SECRET ?? (await ensureUrlSecret(await openBucket(bus, 'system'), clock.now()));
  const callers = await openCallers({ bus, clock, secret });
  const { keys, open, orgs, sessions, authenticateHash } = callers;
  const rateLimits = openRateLimits({ config, keys, orgs, bus, clock, logger });
  const upgrades = new Upgrades(UPGRADE_PATHS);
  const signing = { secret, now: () => clock.now() };
  const links = linkTokens(signing);
  const spending = new Spending({ keys, orgs });
  const receipts = new Receipts({ bus, clock, logger });
  receiptsGauges(metrics, receipts);
  countDroppedRefusals(metrics, events);
  const largeBodies = ByteBudget.of(config, clock);
  watchByteBudget(metrics, largeBodies);
  const intake = { budget: largeBodies, arriving: new ArrivingBodies(), clock };
  const bodies = new BodyChecker(logger);
  const queue = new AdmissionQueue({ callsMax: config.SWITCHYARD_CALLS_MAX, clock, metrics });
  const booking = await BookingGate.start({ bus, metrics, clock, logger });
  const relay = {
    bus,
    bodies,
    booking,
    open,
    events,
    journal: journals.journal,
    receipts,
    intake,
    spending,
    clock,
    logger,
  };
  const draining = new AbortController();
  const routes: Route[] = [
    ...modelCallRoutes(relay),
    ...transcriptionRoutes({ ...relay, queue }),
    ...modelRoutes({ bus, spending }),
    ...computerCreationRoutes({ bus, open, findHost, spending, enabled: computersOn, clock }),
    ...computerRoutes({ bus, findHost, spending, enabled: computersOn }),
    ...computerExecRoutes({ bus, open, findHost, bodies, clock }),
    ...computerFileRoutes({ bus, open, findHost, clock }),
    ...computerConnectionRoutes({ bus, open, findHost, authenticateHash, links, upgrades, publicUrl, clock }),
    ...computerLinkRoutes({ bus, findHost, callerHash: sessions.callerHash, links, publicUrl }),
    ...sessionRoutes({ sessions, authenticateHash, publicUrl }),
    ...keyRoutes(bus),
    ...accountRoutes(bus),
    ...orgRoutes(bus),
    ...providerRoutes(bus),
    ...eventRoutes({ bus, open, draining: draining.signal, clock }),
    ...fileRoutes({ bus, open, clock }),
    ...webhookRoutes(bus),
    ...usageRoutes({ bus, open }),
    ...statementRoutes(bus),
    ...videoRoutes({
      bus,
      orgs,
      open,
      bodies,
      spending,
      receipts,
      tokens: videoTokens(signing),
      publicUrl,
      clock,
    }),
    ...mcpRoutes({ logger }),
    ...healthRoutes(bus),
  ];
  const idempotency = await openIdempotency({ bus, clock, logger });
  const app = buildApp([...routes, ...docsRoutes(routes), ...consoleRoutes()], {
    authenticate: sessions.authenticate,
    ...{ events, booking, intake, idempotency, upgrades, clock, logger },
    ...{ queue, rateLimits, routedUrl },
  });
  const url = await app.listen({ host: config.HOST, port: config.PORT });
  return {
    url,
    async stop() {
      draining.abort(
        new ServiceError('service_unavailable', 'The edge is stopping. Reconnect with Last-Event-ID.'),
      );
      await app.close(); // accepts no new connections and answers open requests
      await idempotency.idle();
      await bodies.close();
      await booking.stop();
      await rateLimits.close();
      callers.close();
      beats.close();
      journals.close();
      await receipts.close();
      await events.close();
    },
  };
}

/** Finds the host of a computer, by its placement and the hosts' heartbeats. */
async function openHosts(bus: Bus, clock: Clock, enabled: boolean) {
  const placements = await openBucket(bus, 'computer-placements');
  const computers = await openBucket(bus, 'computers');
  const hosts = await openBucket(bus, 'hosts');
  const beats = await mirrorBucket(bus, hosts, { clock });
  return { findHost: hostFinder({ placements, computers, enabled, hosts, beats }), beats };
}
