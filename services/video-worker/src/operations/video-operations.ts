// Dependencies of the operations on videos.
import type { Bucket, Bus, EventPublisher, Mirror, ObjectStore } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { Catalog } from '@switchyard/model-router/video';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import type { HoldKeeper } from '@switchyard/spending';
import type { InputStore } from '../input/input-store.ts';

export interface VideoOperations {
  bus: Bus;
  videos: Bucket<VideoRecord>;
  inputs: InputStore;
  results: ObjectStore;
  events: Pick<EventPublisher, 'publish'>;
  catalog: Catalog;
  egress: Egress;
  holds: HoldKeeper;
  largeBodies: ByteBudget;
  /** The unfinished jobs, of all workers. */
  openJobs: Pick<Mirror<VideoRecord>, 'valuesUnder'>;
  /** Maximum size of a video, in bytes. */
  resultBytesMax: number;
  /** Maximum duration of a job, in milliseconds. */
  jobMsMax: number;
  clock: Clock;
  logger: Logger;
}
