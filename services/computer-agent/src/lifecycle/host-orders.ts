// The operator's order for this host, read with each heartbeat. `cordon` refuses new computers, `drain` also stops
// running ones.
import type { Bucket } from '@switchyard/bus';
import type { HostOrder } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { Capacity } from './capacity.ts';
import type { Computers } from './computers.ts';
import { shutDownComputer } from './transitions.ts';

interface HostOrdersDeps {
  readonly hostId: string;
  readonly orders: Bucket<HostOrder>;
  readonly capacity: Capacity;
  readonly computers: Computers;
  readonly logger: Logger;
}

/** While the bus is unavailable the last order stays in force. */
export async function followHostOrder(deps: HostOrdersDeps): Promise<void> {
  const { hostId, orders, capacity, logger } = deps;
  const order = (await orders.get(hostId))?.value.order ?? null;
  if (order !== capacity.order) logger.info({ order: order ?? 'none' }, 'order for this host changed');
  capacity.order = order;
  if (order === 'drain') stopComputers(deps);
}

/** Runs in the background; computers that cannot be stopped now are tried again with the next heartbeat. */
function stopComputers({ computers, logger }: HostOrdersDeps): void {
  for (const computer of computers.all()) {
    if (computer.record.state !== 'running' || computer.changing) continue;
    shutDownComputer(computer).catch((error: unknown) => {
      logger.warn({ err: error, computer: computer.id }, 'a computer of a drained host could not be stopped');
    });
  }
}
