// Making a stream of JetStream where it is missing, and leaving it as it is where it is there.
import { JetStreamApiError, type StreamConfig } from '@nats-io/jetstream';
import type { Bus } from './bus.ts';

/** Code of JetStream for "a stream of this name, set differently, is there". */
const STREAM_NAME_IN_USE = 10_058;

/** @throws JetStreamError, TimeoutError while JetStream is away */
export async function ensureStream(
  bus: Bus,
  config: Partial<StreamConfig> & { name: string },
): Promise<void> {
  try {
    await bus.jsm.streams.add(config);
  } catch (error) {
    // An operator may have set it otherwise (replicas, age): that is theirs to choose.
    if (error instanceof JetStreamApiError && error.code === STREAM_NAME_IN_USE) return;
    throw error;
  }
}
