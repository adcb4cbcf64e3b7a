// Dependencies of the modules of one partition. Each lists those that it uses.
import type { Bus } from '@switchyard/bus';
import type { Clock, Logger } from '@switchyard/service';
import type { Partition } from './partitions/partition.ts';
import type { Progress } from './progress.ts';
import type { Store } from './store/store.ts';

export interface PartitionDeps {
  readonly bus: Bus;
  readonly store: Store;
  /** The partition whose events are booked and whose orgs are served. */
  readonly partition: Partition;
  readonly progress: Progress;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the work after the current batch. */
  readonly signal: AbortSignal;
}
