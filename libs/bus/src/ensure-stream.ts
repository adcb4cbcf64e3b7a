// Creates a JetStream stream if it is missing. If it exists, only its subjects are updated.
import { JetStreamApiError, type StreamConfig } from '@nats-io/jetstream';
import type { Bus } from './bus.ts';

/** JetStream's code for "stream name already in use with a different configuration". */
const STREAM_NAME_IN_USE = 10_058;

/** @throws JetStreamError, TimeoutError while JetStream is down */
export async function ensureStream(
  bus: Bus,
  config: Partial<StreamConfig> & { name: string; subjects: string[] },
): Promise<void> {
  try {
    await bus.jsm.streams.add(config);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== STREAM_NAME_IN_USE) throw error;
    // Other settings (replicas, age) may be the operator's choice and stay unchanged.
    const { config: present } = await bus.jsm.streams.info(config.name);
    if (present.subjects.join() !== config.subjects.join())
      await bus.jsm.streams.update(config.name, { subjects: config.subjects });
  }
}
