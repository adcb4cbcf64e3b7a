// Queries the configured model servers at the start and periodically, and updates the catalog: new models can be called
// without a restart, and removed models are listed as unavailable.
import { type Clock, type Logger, sleep } from '@switchyard/service';
import type { Catalog } from '../catalog.ts';
import type { ModelServer } from './model-server.ts';

export const ASK_AGAIN_MS = 60_000;
/** Short retry delay, since a server that did not answer may be starting. */
export const ASK_AGAIN_AFTER_FAILURE_MS = 5_000;
/** Maximum delay of the router's start by the first queries. */
const START_WAIT_MS = 3_000;

interface DiscoveryOptions {
  servers: readonly ModelServer[];
  catalog: Catalog;
  clock: Clock;
  logger: Logger;
}

export interface Discovery {
  stop(): void;
}

/** Resolves when each server was queried once, or after `START_WAIT_MS`. */
export async function startDiscovery({
  servers,
  catalog,
  clock,
  logger,
}: DiscoveryOptions): Promise<Discovery> {
  const stopping = new AbortController();
  const failing = new Set<ModelServer>();

  const ask = async (server: ModelServer): Promise<void> => {
    const failure = await take(server, catalog, stopping.signal);
    if (stopping.signal.aborted) return;
    if (failure === null) failing.delete(server);
    else if (!failing.has(server)) {
      failing.add(server); // logged once, not every five seconds
      logger.warn(
        { server: server.name, url: server.url, failure },
        'a model server could not list its models',
      );
    }
    const againMs = failure === null ? ASK_AGAIN_MS : ASK_AGAIN_AFTER_FAILURE_MS;
    void sleep(againMs, clock, stopping.signal).then(() => {
      if (!stopping.signal.aborted) void ask(server);
    });
  };

  const asked = Promise.all(servers.map(ask));
  const started = new AbortController();
  await Promise.race([asked, sleep(START_WAIT_MS, clock, started.signal)]);
  started.abort();
  return { stop: () => stopping.abort(new Error('the router stops')) };
}

/** Updates the catalog from the server; returns the reason of a failure, or null. */
async function take(server: ModelServer, catalog: Catalog, signal: AbortSignal): Promise<string | null> {
  const where = `${server.name} at ${server.url}`;
  try {
    const models = await server.list(signal);
    if (!signal.aborted) catalog.discovered(where, models, `${where} no longer has it`);
    return null;
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) catalog.discovered(where, [], `${where} failed: ${failure}`);
    return failure;
  }
}
