// Asks the servers of models at configured addresses what they have, at the start and again and again, and keeps the
// catalog true to it: a model that appears can be called without a restart, one that is gone is listed as such.
import type { Clock, Logger } from '@switchyard/service';
import type { Catalog } from '../catalog.ts';
import type { ModelServer } from './model-server.ts';

export const ASK_AGAIN_MS = 60_000;
/** A server that did not answer may be starting. */
export const ASK_AGAIN_AFTER_FAILURE_MS = 5_000;
/** The router's start waits no longer than this for the first answers. */
export const START_WAIT_MS = 3_000;

export interface DiscoveryOptions {
  servers: readonly ModelServer[];
  catalog: Catalog;
  clock: Clock;
  logger: Logger;
}

export interface Discovery {
  stop(): void;
}

/** Resolves when each server was asked once, or after `START_WAIT_MS`. */
export async function startDiscovery({
  servers,
  catalog,
  clock,
  logger,
}: DiscoveryOptions): Promise<Discovery> {
  const stopping = new AbortController();
  const timers = new Map<ModelServer, () => void>();
  const failing = new Set<ModelServer>();

  const ask = async (server: ModelServer): Promise<void> => {
    const failure = await take(server, catalog, stopping.signal);
    if (stopping.signal.aborted) return;
    if (failure === null) failing.delete(server);
    else if (!failing.has(server)) {
      failing.add(server); // said once, and not every five seconds
      logger.warn(
        { server: server.name, url: server.url, failure },
        'a server of models does not say what it has',
      );
    }
    const againMs = failure === null ? ASK_AGAIN_MS : ASK_AGAIN_AFTER_FAILURE_MS;
    timers.set(
      server,
      clock.after(againMs, () => void ask(server)),
    );
  };

  const asked = Promise.all(servers.map(ask));
  let takeBack = () => {};
  const waited = new Promise<void>((resolve) => {
    takeBack = clock.after(START_WAIT_MS, resolve);
  });
  await Promise.race([asked, waited]);
  takeBack();
  return {
    stop() {
      stopping.abort(new Error('the router stops'));
      for (const takeBackTimer of timers.values()) takeBackTimer();
    },
  };
}

/** Puts what the server has into the catalog; returns why it could not be had, or null. */
async function take(server: ModelServer, catalog: Catalog, signal: AbortSignal): Promise<string | null> {
  const where = `${server.name} at ${server.url}`;
  try {
    const models = await server.list(signal);
    if (!signal.aborted) catalog.discovered(where, models, `${where} no longer has it`);
    return null;
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) catalog.discovered(where, [], `${where} cannot be asked: ${failure}`);
    return failure;
  }
}
