// What billing serves: the only wiring list.
import type { Bus, ServiceHost } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { MongoError } from 'mongodb';
import { logsGet } from './operations/logs-get.ts';
import { logsList } from './operations/logs-list.ts';
import { usageGet } from './operations/usage-get.ts';
import type { Progress } from './progress.ts';
import type { Store } from './store/store.ts';

/** What an operation may use. */
export interface BillingDeps {
  readonly bus: Bus;
  readonly store: Store;
  readonly progress: Progress;
  readonly clock: Clock;
}

/** Seconds after which to ask again when the database is away. */
const RETRY_AFTER_S = 2;

export function register(host: ServiceHost, deps: BillingDeps): void {
  host.handle('usage.get', (request) => orUnavailable(usageGet(request, deps)));
  host.handle('logs.list', (request) => orUnavailable(logsList(request, deps)));
  host.handle('logs.get', (request) => orUnavailable(logsGet(request, deps)));
}

/** A database that does not answer is a matter of time, not a fault of the question. */
async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!(cause instanceof MongoError)) throw cause;
    throw new ServiceError('service_unavailable', 'usage and logs are away for a moment: try again', {
      cause,
      retryAfterS: RETRY_AFTER_S,
    });
  }
}
