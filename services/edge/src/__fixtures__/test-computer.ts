// A running computer as the edge finds it, on a host that sends heartbeats or none. Each test defines the host's answers.
import { openBucket } from '@switchyard/bus';
import {
  computerPlacement,
  DEFAULT_ORG,
  newComputerRecord,
  newId,
  placementKey,
  recordKey,
} from '@switchyard/contracts';
import type { TestEdge } from './test-edge.ts';

interface TestComputer {
  readonly id: string;
  readonly host: string;
}

/** Adds a computer whose host sends no heartbeats. */
export async function addSilentComputer({ bus, clock }: TestEdge): Promise<TestComputer> {
  const host = newId('host');
  const id = newId('computer');
  const record = newComputerRecord({
    id,
    org: DEFAULT_ORG,
    key_id: newId('key'),
    host,
    name: 'test',
    image: 'test',
    cpu: 1,
    memory_mb: 512,
    disk_gb: 1,
    rates: { per_minute: '0', per_vcpu_minute: '0', per_gb_memory_minute: '0', per_gb_disk_minute: '0' },
    created_at: new Date(clock.now()).toISOString(),
  });
  const placement = computerPlacement.parse(record);
  await (await openBucket(bus, 'computer-placements')).create(placementKey(DEFAULT_ORG, id), placement);
  await (await openBucket(bus, 'computers')).create(recordKey(record), { ...record, state: 'running' });
  return { id, host };
}

export interface HeardComputer extends TestComputer {
  /** Its host sends a heartbeat. After a minute of the edge's clock without one, it is silent. */
  beat(): Promise<void>;
}

export async function addComputer(edge: TestEdge): Promise<HeardComputer> {
  const { id, host } = await addSilentComputer(edge);
  const hosts = await openBucket(edge.bus, 'hosts');
  const beat = async () => {
    await hosts.put(host, {
      id: host,
      at: new Date(edge.clock.now()).toISOString(),
      cpu_total: 1,
      cpu_used: 0,
      memory_mb_total: 1_024,
      memory_mb_used: 0,
      computers: 1,
      disk_mb_free: null,
      disk_mb_free_min: null,
      image_ready: true,
      image_progress: null,
      refuses: null,
      cordoned: false,
    });
  };
  await beat();
  return { id, host, beat };
}
