// What working on jobs needs. Everything that could fail, or outlive the process, is in here, so that tests can let the
// process die at each of its steps.
import type { Bucket, EventPublisher, ObjectStore } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import type { Catalog, VideoMaker } from '@switchyard/model-router/video';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import type { InputStore } from '../input/input-store.ts';

export interface JobSurroundings {
  videos: Pick<Bucket<VideoRecord>, 'get' | 'create' | 'update'>;
  inputs: Pick<InputStore, 'read' | 'delete' | 'callbackUrl'>;
  results: Pick<ObjectStore, 'put' | 'delete'>;
  events: Pick<EventPublisher, 'publish'>;
  catalog: Catalog;
  makers: Readonly<Record<string, VideoMaker>>;
  /** First frames are in memory several times while a maker is told of them. */
  largeBodies: Pick<ByteBudget, 'take'>;
  /** Bytes of a video at the most. */
  resultBytesMax: number;
  clock: Clock;
  logger: Logger;
  /** Aborted when the process is to end: what can be left to another worker is. */
  stopping: AbortSignal;
}

export const EVENT_SOURCE = '/switchyard/video-worker';
