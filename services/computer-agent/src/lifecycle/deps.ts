// Dependencies of a computer.
import type { EventPublisher } from '@switchyard/bus';
import type { ComputerLimits } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import type { HoldKeeper } from '@switchyard/spending';
import type { ComputerHost } from '../computer/computer-host.ts';
import type { BillableClock } from '../metering/billable-clock.ts';
import type { ComputerRecords } from '../store/computer-records.ts';
import type { Capacity } from './capacity.ts';

export interface ComputerDeps {
  readonly hostId: string;
  readonly host: ComputerHost;
  readonly records: ComputerRecords;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly capacity: Capacity;
  readonly holds: Pick<HoldKeeper, 'open'>;
  readonly billable: BillableClock;
  readonly limits: ComputerLimits;
  readonly outputBytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** When an earlier agent of this host was last heard, milliseconds since the epoch. */
  readonly lastHeardBefore: number;
}
