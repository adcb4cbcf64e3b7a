// Parts of the console that are loaded when they are first shown.
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

/** As for GET requests: a network change aborts what is being loaded. */
const TRIES_MAX = 3;
const PAUSE_MS = 1_000;
/** Instead of the browser's words, which name a script. */
const NOT_LOADED = 'This page could not be loaded. Check the connection and try again.';

export function loadLater<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
): LazyExoticComponent<ComponentType<P>> {
  return lazy(() => loadAgain(load));
}

/** @throws after the last try */
export async function loadAgain<T>(load: () => Promise<T>, pauseMs = PAUSE_MS): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await load();
    } catch (error) {
      if (tries === TRIES_MAX) throw new Error(NOT_LOADED, { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
