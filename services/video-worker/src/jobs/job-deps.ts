// Dependencies of the work on jobs. Everything that can fail or outlive the process is in here, so that tests can kill
// the process at each step.
import type { Bucket, EventPublisher, ObjectStore } from '@switchyard/bus';
import type { VideoRecord } from '@switchyard/contracts';
import type { Catalog, VideoMaker } from '@switchyard/model-router/video';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import type { InputStore } from '../input/input-store.ts';

export interface JobDeps {
  videos: Pick<Bucket<VideoRecord>, 'get' | 'create' | 'update'>;
  inputs: Pick<InputStore, 'read' | 'delete' | 'summary'>;
  results: Pick<ObjectStore, 'put' | 'delete'>;
  events: Pick<EventPublisher, 'publish'>;
  catalog: Catalog;
  makers: Readonly<Record<string, VideoMaker>>;
  /** Redacts our API keys in a maker's text. */
  redactKeys(words: string): string;
  /** Limits the memory for large inputs, which a maker request holds several times. */
  largeBodies: Pick<ByteBudget, 'take'>;
  /** Maximum size of a video, in bytes. */
  resultBytesMax: number;
  clock: Clock;
  logger: Logger;
  /** Aborted on shutdown; the worker then leaves unfinished work to other workers where possible. */
  stopping: AbortSignal;
}

export const EVENT_SOURCE = '/switchyard/video-worker';
