// Sends this host's capacity and promises once a second. Control reads this heartbeat, and billing of computers
// depends on it.
import type { Bucket } from '@switchyard/bus';
import type { HostHeartbeat } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';
import type { ComputerHost } from './computer/computer-host.ts';
import type { Capacity } from './lifecycle/capacity.ts';
import type { BillableClock } from './metering/billable-clock.ts';
import type { LastHeard } from './store/last-heard.ts';

const HEARTBEAT_MS = 1_000;

interface HeartbeatDeps {
  readonly hostId: string;
  readonly hosts: Bucket<HostHeartbeat>;
  readonly host: ComputerHost;
  readonly capacity: Capacity;
  /** Reads the operator's order for this host. */
  readonly followOrder: () => Promise<void>;
  readonly billable: BillableClock;
  readonly lastHeard: LastHeard;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #beats: Repeating | undefined;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** Sends a heartbeat now and every second; resolves after the first. */
  async start(): Promise<void> {
    const { clock, logger } = this.#deps;
    const failed = 'the heartbeat failed';
    await this.beat().catch((error: unknown) => logger.warn({ err: error }, failed));
    this.#beats = repeat({ everyMs: HEARTBEAT_MS, clock, logger, failed }, () => this.beat());
  }

  /** Stops, and announces that the host takes no more computers. */
  async stop(): Promise<void> {
    await this.#beats?.stop();
    await this.beat({ cordoned: true }).catch(() => {}); // control also notices the silence
  }

  async beat({ cordoned = false } = {}): Promise<void> {
    const { hostId, hosts, host, capacity, followOrder, billable, lastHeard, clock } = this.#deps;
    await followOrder().catch(() => {}); // if unreadable, the last order stays in force
    await capacity.disk.measure();
    const image = host.imageStatus();
    const { total, used, disk } = capacity;
    await hosts.put(hostId, {
      id: hostId,
      at: new Date(clock.now()).toISOString(),
      cpu_total: total.cpu,
      cpu_used: used.cpu,
      memory_mb_total: total.memoryMb,
      memory_mb_used: used.memoryMb,
      computers: capacity.computers,
      disk_mb_free: disk.freeMb,
      disk_mb_free_min: disk.freeMbMin,
      image_ready: image.ready,
      image_progress: image.ready ? null : image.message,
      refuses: host.refusal()?.message ?? null,
      cordoned: cordoned || capacity.order !== null,
    });
    billable.heard();
    await lastHeard.write(clock.now());
  }
}
