// Live events of all orgs, for the event streams of this edge. One ordered consumer per stream of events is shared by
// all of them; it runs only while there is an event stream.
import { type Bus, type EventReader, lastSequence, openEventReader } from '@switchyard/bus';
import { EVENT_STREAMS, type Event, type EventStream, eventSubjects } from '@switchyard/contracts';
import { type Clock, type Logger, passed } from '@switchyard/service';

/** Pause before a consumer that failed is started again. */
const AGAIN_MS = 1_000;

/** The last sequence of each stream of events. */
export type Position = Record<EventStream, number>;

export interface LiveEvent {
  readonly stream: EventStream;
  readonly sequence: number;
  readonly event: Event;
}

interface LiveEventsDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Membership {
  /** The listener gets every event after this position. */
  readonly at: Position;
  leave(): void;
}

type Listener = (event: LiveEvent) => void;

export class LiveEvents {
  readonly #deps: LiveEventsDeps;
  readonly #listeners = new Map<string, Set<Listener>>();
  #running: Running | null = null;

  constructor(deps: LiveEventsDeps) {
    this.#deps = deps;
  }

  /** Calls `listener` with every event of the org from now on. */
  async join(org: string, listener: Listener): Promise<Membership> {
    const listeners = this.#listeners.get(org) ?? new Set();
    this.#listeners.set(org, listeners.add(listener));
    const leave = () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(org) === listeners) this.#listeners.delete(org);
      if (this.#listeners.size === 0) this.close();
    };
    this.#running ??= new Running(this.#deps, (subject, make) => this.#dispatch(subject, make));
    const running = this.#running;
    try {
      await running.ready;
      return { at: { ...running.at }, leave };
    } catch (error) {
      running.stop();
      if (this.#running === running) this.#running = null;
      leave();
      throw error;
    }
  }

  /** Ends the consumers. */
  close(): void {
    this.#running?.stop();
    this.#running = null;
  }

  #dispatch(subject: string, make: () => LiveEvent | null): void {
    const listeners = this.#listeners.get(subject.split('.')[4] as string);
    const live = listeners && make(); // events of other orgs are not parsed
    if (live) for (const listener of [...listeners]) listener(live);
  }
}

/** The consumers, from the first listener to the last. */
class Running {
  readonly at: Position = { EVENTS: 0, REFUSALS: 0 };
  readonly ready: Promise<unknown>;
  readonly #deps: LiveEventsDeps;
  readonly #readers = new Map<EventStream, EventReader>();
  #stopped = false;

  constructor(deps: LiveEventsDeps, dispatch: (subject: string, make: () => LiveEvent | null) => void) {
    this.#deps = deps;
    this.ready = this.#start(dispatch);
  }

  /** Follows once all positions are known, so that no event below them is live. */
  async #start(dispatch: (subject: string, make: () => LiveEvent | null) => void): Promise<void> {
    await Promise.all(
      EVENT_STREAMS.map(async ({ stream }) => {
        this.at[stream] = await lastSequence(this.#deps.bus, stream);
      }),
    );
    for (const { stream, suffix } of EVENT_STREAMS)
      void this.#follow(stream, eventSubjects('*', ['*'], suffix), dispatch);
  }

  stop(): void {
    this.#stopped = true;
    for (const reader of this.#readers.values()) reader.stop();
  }

  async #follow(
    stream: EventStream,
    subjects: readonly string[],
    dispatch: (subject: string, make: () => LiveEvent | null) => void,
  ): Promise<void> {
    const { bus, clock, logger } = this.#deps;
    while (!this.#stopped) {
      try {
        const reader = await openEventReader(bus, { stream, subjects, after: this.at[stream] });
        this.#readers.set(stream, reader);
        if (this.#stopped) reader.stop();
        for await (const message of reader.messages) {
          const { sequence, subject } = message;
          this.at[stream] = sequence;
          dispatch(subject, () => {
            const event = message.event();
            return event && { stream, sequence, event };
          });
        }
      } catch (error) {
        if (!this.#stopped) logger.warn({ err: error, stream }, 'live events stopped and are started again');
      }
      if (!this.#stopped) await passed(AGAIN_MS, clock);
    }
  }
}
