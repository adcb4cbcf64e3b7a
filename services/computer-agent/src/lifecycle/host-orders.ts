// What an operator wants of this host, read with each heartbeat: `cordon` keeps new computers away, `drain` stops those
// that run as well.
import type { Bucket } from '@switchyard/bus';
import type { HostOrder } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { Capacity } from './capacity.ts';
import type { Computers } from './computers.ts';

export interface HostOrdersOptions {
  readonly hostId: string;
  readonly orders: Bucket<HostOrder>;
  readonly capacity: Capacity;
  readonly computers: Computers;
  readonly logger: Logger;
}

export class HostOrders {
  readonly #on: HostOrdersOptions;

  constructor(options: HostOrdersOptions) {
    this.#on = options;
  }

  /** While the bus is away the last order stands. */
  async follow(): Promise<void> {
    const { hostId, orders, capacity, logger } = this.#on;
    const order = (await orders.get(hostId))?.value.order ?? null;
    if (order !== capacity.order)
      logger.info({ order: order ?? 'none' }, 'an operator’s order for this host');
    capacity.order = order;
    if (order === 'drain') this.#stopComputers();
  }

  /** Nobody waits for it: what cannot be stopped now is tried again with the next heartbeat. */
  #stopComputers(): void {
    const { computers, logger } = this.#on;
    for (const computer of computers.all()) {
      if (computer.record.state !== 'running' || computer.changing) continue;
      computer.shutDown().catch((error: unknown) => {
        logger.warn(
          { err: error, computer: computer.id },
          'a computer of a drained host could not be stopped',
        );
      });
    }
  }
}
