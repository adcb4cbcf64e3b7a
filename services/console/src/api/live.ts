// Live events: one connection of this tab to GET /v1/events, which resumes where it was. Pages listen to it, and what
// they show of an event's noun is loaded again.
import type { BookedEventName, EventName, StreamedEvent } from '@switchyard/contracts';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { call, refresh } from './client.ts';
import { serverEvents } from './server-events.ts';

const RECONNECT_DELAY_MS = 1_000;
const RECONNECT_DELAY_MS_MAX = 15_000;
/** A hidden tab closes its connection: browsers allow six per host. It resumes when it is shown. */
const HIDDEN_MS_MAX = 30_000;
/** After a longer time without a connection, pages are reloaded and the events of that time are not. */
const CATCH_UP_MS_MAX = 5 * 60_000;
/** Logs and usage are booked within a second of the event. */
export const BOOKED_MS = 1_200;
/** An answer that takes longer does not hold up the others. */
const ANSWER_MS_MAX = 30_000;

type NounOf<E extends EventName> = E extends `${infer N}.${string}` ? N : never;
type BookedNoun = NounOf<BookedEventName>;
type Paths = readonly string[];

const BILL: Paths = ['/v1/usage', '/v1/logs', '/v1/account', '/v1/statements'];
/** Paths that show each noun; the bill shows a booked one without a line. */
const SHOWN_BY: Record<Exclude<NounOf<EventName>, BookedNoun>, Paths> & Partial<Record<BookedNoun, Paths>> = {
  computer: ['/v1/computers', ...BILL],
  video: ['/v1/videos', ...BILL],
  credit: ['/v1/account', '/v1/credits', '/v1/statements'],
  account: ['/v1/account'],
  key: ['/v1/keys'],
  org: ['/v1/account', '/v1/orgs'],
  budget: [],
  webhook: ['/v1/webhooks'],
  signing_secret: [],
  provider: ['/v1/providers'],
};

type LiveState = 'connecting' | 'live' | 'offline';

const listeners = new Set<(event: StreamedEvent) => void>();
const stateListeners = new Set<() => void>();
let state: LiveState = 'connecting';
let lastId: string | null = null;
/** When the connection last received anything, keep-alives included. */
let heardAt = 0;
let running: AbortController | null = null;
/** Paths to load when the timer ends, and those of events since it began, which may not be booked by then. */
let due = new Set<string>();
let later = new Set<string>();

/** Starts following; returns a function that stops it. */
export function followEvents(): () => void {
  const stop = new AbortController();
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) hiddenTimer = setTimeout(disconnect, HIDDEN_MS_MAX);
    else if (!running) void follow(stop.signal);
  };
  document.addEventListener('visibilitychange', look, { signal: stop.signal });
  void follow(stop.signal);
  return () => {
    stop.abort();
    disconnect();
    clearTimeout(hiddenTimer);
    lastId = null;
  };
}

/** The loop of the connection may still be in a pause; another one may begin at once. */
function disconnect(): void {
  running?.abort();
  running = null;
}

async function follow(stop: AbortSignal): Promise<void> {
  const connection = new AbortController();
  running = connection;
  let pauseMs = RECONNECT_DELAY_MS;
  const ended = () => stop.aborted || connection.signal.aborted;
  while (!ended()) {
    try {
      const isBehind = lastId !== null && Date.now() - heardAt > CATCH_UP_MS_MAX;
      const headers: Record<string, string> = lastId === null || isBehind ? {} : { 'last-event-id': lastId };
      const answer = await call('/v1/events', { headers, signal: connection.signal });
      if (isBehind) void refresh('/v1/');
      for await (const { id, event, data } of serverEvents(answer)) {
        heardAt = Date.now();
        if (id !== null) lastId = id;
        if (event === 'error') break;
        setState('live');
        pauseMs = RECONNECT_DELAY_MS;
        if (data) dispatch(JSON.parse(data) as StreamedEvent);
      }
    } catch {
      pauseMs = Math.min(pauseMs * 2, RECONNECT_DELAY_MS_MAX);
    }
    if (ended()) break;
    setState('offline');
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  if (running === connection) running = null;
}

function dispatch(event: StreamedEvent): void {
  for (const listener of listeners) listener(event);
  refreshSoon(...pathsShowing(event));
}

/** The paths whose answers an event changes. */
export function pathsShowing({ type, data }: Pick<StreamedEvent, 'type' | 'data'>): readonly string[] {
  // A refused call costs nothing. A refused load of logs must not cause another: that would never end.
  if (type === 'call.refused') return String(data.path).startsWith('/v1/logs') ? [] : ['/v1/logs'];
  return SHOWN_BY[type.split('.')[0] as keyof typeof SHOWN_BY] ?? BILL;
}

/** Reloads what is shown of these paths once events are booked, `BOOKED_MS` after the former reload at the earliest. */
export function refreshSoon(...paths: string[]): void {
  if (paths.length === 0) return;
  const isWaiting = due.size > 0;
  for (const path of paths) (isWaiting ? later : due).add(path);
  if (!isWaiting) setTimeout(load, BOOKED_MS);
}

async function load(): Promise<void> {
  // The next reload would cancel this one.
  await Promise.race([refresh(...due), new Promise((resolve) => setTimeout(resolve, ANSWER_MS_MAX))]);
  due = later;
  later = new Set();
  if (due.size > 0) setTimeout(load, BOOKED_MS);
}

function setState(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const listener of stateListeners) listener();
}

/** Calls `listener` with each event while the component is shown. */
export function useLiveEvents(listener: (event: StreamedEvent) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const relay = (event: StreamedEvent) => latest.current(event);
    listeners.add(relay);
    return () => void listeners.delete(relay);
  }, []);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener);
      return () => void stateListeners.delete(listener);
    },
    () => state,
  );
}
