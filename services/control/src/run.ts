// Builds control from its parts.
import { join } from 'node:path';
import {
  createEventPublisher,
  type EventPublisher,
  ensureEventsStream,
  mirrorBucket,
  openBucket,
  openObjectStore,
  serve,
} from '@switchyard/bus';
import { toComputerLimits } from '@switchyard/contracts';
import { ProviderSeal, type Running, repeat, type ServiceDeps } from '@switchyard/service';
import { publishWritten } from './changes/publish-written.ts';
import type { ComputerOperations } from './computers/computer-operations.ts';
import { admitHostEvents } from './computers/host-events.ts';
import { Hosts } from './computers/hosts.ts';
import { PlacedRecords } from './computers/placed-records.ts';
import { Slots } from './computers/slots.ts';
import { placementSweep, sweepComputers } from './computers/sweeper.ts';
import type { Config } from './config.ts';
import type { FileOperations } from './files/file-operations.ts';
import { Quota } from './files/quota.ts';
import { sweepFiles } from './files/sweeper.ts';
import { ensureFirstKey } from './keys/first-key.ts';
import { revokeOrphans } from './keys/key-sweeper.ts';
import { keepTicking } from './keys/tick.ts';
import { ensureDefaultOrg } from './orgs/org-records.ts';
import { sweepOrgs } from './orgs/org-sweeper.ts';
import { register } from './register.ts';
import { OVER_A_DAY } from './webhooks/retry-schedule.ts';
import { startWebhooks } from './webhooks/start-webhooks.ts';

/** Time between the rounds of each sweep. */
export const SWEEPS_MS = {
  keys: 60_000,
  orgs: 30_000,
  computers: 30_000,
  placements: 600_000,
  files: 300_000,
};

type Needs = Pick<ServiceDeps<Config>, 'config' | 'bus' | 'logger' | 'clock'>;

export async function start({ config, bus, logger, clock }: Needs): Promise<Running> {
  await ensureEventsStream(bus);
  const outboxDir = join(config.SWITCHYARD_DATA, 'outbox', 'control');
  const events = await createEventPublisher({ bus, outboxDir, logger });
  const keys = await openBucket(bus, 'keys');
  const orgs = await openBucket(bus, 'orgs');
  const providerKeys = await openBucket(bus, 'provider-keys');
  await ensureDefaultOrg(orgs, clock.now()); // before its first key, which is unknown without an org
  if (config.SWITCHYARD_KEY !== undefined) await ensureFirstKey(keys, config.SWITCHYARD_KEY, clock.now());
  const known = await mirrorBucket(bus, keys);
  const knownOrgs = await mirrorBucket(bus, orgs);
  const stopTicking = keepTicking(bus, [keys, orgs, providerKeys], logger);
  const hosts = await mirrorBucket(bus, await openBucket(bus, 'hosts'), { clock });
  const computers = await computerOperations({ config, bus, logger, clock }, events, new Hosts(hosts, clock));
  const admission = admitHostEvents(computers);
  const files = await fileOperations({ config, bus, logger, clock });
  const allow = config.SWITCHYARD_EGRESS_ALLOW;
  const webhooks = await startWebhooks({
    ...{ bus, events, clock, logger, allow },
    schedule: OVER_A_DAY,
    random: Math.random,
  });
  const stopPublishing = publishWritten({ bus, events, clock, logger });
  const service = await serve(bus, {
    name: 'control',
    version: '0.1.0',
    description: 'Keys and orgs, placement and the cap of computers, lost hosts, stored files, webhooks.',
  });
  const keyOperations = { keys, known, events, clock };
  const orgOperations = { bus, orgs, knownOrgs, events, clock, keys: keyOperations };
  const orgData = { ...orgOperations, computers, files, webhooks: webhooks.operations };
  const sweep = (what: keyof typeof SWEEPS_MS, work: () => Promise<void>) =>
    repeat({ everyMs: SWEEPS_MS[what], clock, logger, failed: `the sweep of ${what} failed` }, work);
  const sweeps = [
    sweep('keys', () => revokeOrphans(keyOperations)),
    sweep('orgs', () => sweepOrgs(orgData)),
    sweep('computers', () => sweepComputers(computers)),
    sweep('placements', placementSweep(computers)),
    sweep('files', () => sweepFiles(files)),
  ];
  register(service, {
    keys: keyOperations,
    orgs: orgOperations,
    computers,
    files,
    webhooks: webhooks.operations,
    providers: {
      ...{ bus, providerKeys, events, clock, logger },
      seal: new ProviderSeal(config.SWITCHYARD_PROVIDERS_SECRET),
    },
  });
  return {
    async stop() {
      await service.drain();
      await webhooks.stop();
      await stopPublishing();
      await admission.stop();
      await Promise.all(sweeps.map((one) => one.stop()));
      stopTicking();
      hosts.close();
      known.close();
      knownOrgs.close();
      await events.close();
    },
  };
}

async function computerOperations(
  { config, bus, logger, clock }: Needs,
  events: EventPublisher,
  hosts: Hosts,
): Promise<ComputerOperations> {
  const records = new PlacedRecords({
    placements: await openBucket(bus, 'computer-placements'),
    computers: await openBucket(bus, 'computers'),
  });
  const slots = await openBucket(bus, 'computer-slots');
  return {
    bus,
    records,
    minutes: await openBucket(bus, 'computer-minutes'),
    slots: new Slots({ slots, records, clock }),
    hosts,
    events,
    limits: toComputerLimits(config),
    offReason: config.SWITCHYARD_COMPUTERS === 'off' ? config.SWITCHYARD_COMPUTERS_OFF_REASON : null,
    clock,
    logger,
    random: Math.random,
  };
}

async function fileOperations({ config, bus, logger, clock }: Needs): Promise<FileOperations> {
  const usage = await openBucket(bus, 'file-usage');
  const bytesMax = Math.round(config.SWITCHYARD_STORAGE_GB * 1e9);
  return {
    files: await openBucket(bus, 'files'),
    contents: await openObjectStore(bus, 'files'),
    quota: new Quota({ usage, bytesMax, clock }),
    clock,
    logger,
  };
}
