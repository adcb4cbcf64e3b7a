// Builds the router and starts it.
import { join } from 'node:path';
import { createEventPublisher, ensureEventsStream, serve } from '@switchyard/bus';
import { createEgress } from '@switchyard/egress';
import {
  ByteBudget,
  countDroppedRefusals,
  type Running,
  type ServiceDeps,
  watchByteBudget,
} from '@switchyard/service';
import { HoldKeeper } from '@switchyard/spending';
import { AudioDecoder } from './audio/audio-decoder.ts';
import { circuitGauge } from './calls/circuit-gauge.ts';
import { Circuits } from './calls/circuits.ts';
import { loadCatalog } from './catalog/catalog.ts';
import { secretOf } from './catalog/catalog-config.ts';
import { configuredServers } from './catalog/discovery/configured-servers.ts';
import { startDiscovery } from './catalog/discovery/discovery.ts';
import { SHIPPED_CATALOGS } from './catalog/shipped.ts';
import type { Config } from './config.ts';
import { ADAPTERS, createMakers } from './makers/registry.ts';
import { openProviderKeys } from './providers/provider-keys.ts';
import { register } from './register.ts';

export async function start({ config, bus, logger, clock, metrics }: ServiceDeps<Config>): Promise<Running> {
  const keys = await openProviderKeys({
    bus,
    secret: config.SWITCHYARD_PROVIDERS_SECRET,
    environment: (name) => secretOf(config, name),
  });
  const { secret, locked } = keys;
  const egress = createEgress({ allow: config.SWITCHYARD_EGRESS_ALLOW, clock });
  const makers = createMakers({ secret, now: clock.now, egress });
  const files = [...SHIPPED_CATALOGS, ...config.SWITCHYARD_CATALOG];
  const catalog = loadCatalog({ files, makers: ADAPTERS, secret, locked });
  const servers = configuredServers(config, { fetch, clock, logger });
  const discovery = await startDiscovery({ servers, catalog, clock, logger });
  logger.info({ models: catalog.size }, 'the catalog is loaded');
  await ensureEventsStream(bus);
  const outboxDir = join(config.SWITCHYARD_DATA, 'outbox', 'model-router');
  const events = await createEventPublisher({ bus, outboxDir, logger });
  countDroppedRefusals(metrics, events);
  const circuits = new Circuits(clock);
  metrics.registerMetric(circuitGauge(circuits));
  const service = await serve(bus, {
    name: 'model-router',
    version: '0.1.0',
    description: 'Chooses model and maker, falls back, calls, prices, emits one usage event per call.',
  });
  const callTimeoutMs = config.SWITCHYARD_CALL_TIMEOUT_SECONDS * 1000;
  const largeBodies = ByteBudget.of(config, clock);
  watchByteBudget(metrics, largeBodies);
  const holds = new HoldKeeper({ bus, logger });
  register(service, {
    ...{ catalog, keys, circuits, callTimeoutMs, largeBodies, holds, events, clock, logger },
    makers: makers.byName,
    decoder: new AudioDecoder(clock),
  });
  return {
    async stop() {
      discovery.stop();
      await service.drain();
      holds.stop();
      await events.close();
      await makers.close();
      keys.close();
    },
  };
}
