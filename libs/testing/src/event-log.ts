/** The stream EVENTS as a test sees it: everything since the beginning, and a wait for what has not come yet. */
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM, type Event, type EventName, parseEvent } from '@switchyard/contracts';

const WAIT_MS = 15_000;

type EventOf<N extends EventName> = N extends EventName ? Event<N> : never;

export interface EventLog {
  /** In the order of the stream. */
  readonly all: readonly Event[];
  of<N extends EventName>(name: N): EventOf<N>[];
  /** Resolves with the first event, also one that came before, that matches. */
  until(what: string, matches: (event: Event) => boolean): Promise<Event>;
  stop(): Promise<void>;
}

/** The stream must be there (`ensureEventsStream`). */
export async function openEventLog(bus: Bus): Promise<EventLog> {
  const all: Event[] = [];
  const waiting = new Set<() => void>();
  const consumer = await bus.js.consumers.get(EVENTS_STREAM);
  const messages = await consumer.consume({
    callback: (message) => {
      all.push(parseEvent(message.json()));
      for (const look of [...waiting]) look();
    },
  });
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
      await messages.close();
    },
  };
}
