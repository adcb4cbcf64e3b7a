/** The events for a test: all events so far, and a wait for future ones. */
import { AckPolicy, type Consumer } from '@nats-io/jetstream';
import { type Bus, readEvent } from '@switchyard/bus';
import { EVENT_STREAMS, type Event, type EventName, HOST_EVENTS_STREAM } from '@switchyard/contracts';

/** What is waited for comes from other processes; on a busy machine they may stand still for many seconds. */
const WAIT_MS = 60_000;

type EventOf<N extends EventName> = N extends EventName ? Event<N> : never;

export interface EventLog {
  /** In the order of each stream. */
  readonly all: readonly Event[];
  of<N extends EventName>(name: N): EventOf<N>[];
  /** Resolves with the first matching event, past or future. */
  until(what: string, matches: (event: Event) => boolean): Promise<Event>;
  stop(): Promise<void>;
}

/**
 * The streams must exist (`ensureEventsStream`).
 * @param options.ofHosts the events that computer hosts publish, which no control admits
 */
export async function openEventLog(bus: Bus, { ofHosts = false } = {}): Promise<EventLog> {
  const all: Event[] = [];
  const waiting = new Set<() => void>();
  const consumers = ofHosts
    ? [consumerOfHosts(bus)]
    : EVENT_STREAMS.map(({ stream }) => bus.js.consumers.get(stream));
  const following = await Promise.all(
    consumers.map(async (consumer) =>
      (await consumer).consume({
        callback: (message) => {
          const event = readEvent(message);
          // A host may publish an event again. Control admits it with its id, so that JetStream drops the repetition.
          if (!ofHosts || !all.some(({ id }) => id === event.id)) all.push(event);
          if (ofHosts) message.ack();
          for (const look of [...waiting]) look();
        },
      }),
    ),
  );
  return {
    all,
    of: <N extends EventName>(name: N) => all.filter((event) => event.type === name) as EventOf<N>[],
    until: (what, matches) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`no event "${what}" within ${WAIT_MS} ms; there were ${all.map(({ id }) => id)}`));
        }, WAIT_MS);
        const look = () => {
          const found = all.find(matches);
          if (!found) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    stop: async () => {
      await Promise.all(following.map((messages) => messages.close()));
    },
  };
}

/** A work queue is read by a consumer that acknowledges. */
async function consumerOfHosts({ js, jsm }: Bus): Promise<Consumer> {
  await jsm.consumers.add(HOST_EVENTS_STREAM, { durable_name: 'event-log', ack_policy: AckPolicy.Explicit });
  return js.consumers.get(HOST_EVENTS_STREAM, 'event-log');
}
