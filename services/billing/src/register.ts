// What billing serves: the only wiring list.
import { JetStreamError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import type { Bus, OperationContext, ServiceHost } from '@switchyard/bus';
import {
  type OperationName,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { MongoError } from 'mongodb';
import type { Accounts } from './accounts/accounts.ts';
import type { AccountRecords } from './accounts/records.ts';
import type { BooksWatch } from './audit/watch.ts';
import { accountAudit } from './operations/account-audit.ts';
import { accountGet } from './operations/account-get.ts';
import { creditsCreate } from './operations/credits-create.ts';
import { creditsList } from './operations/credits-list.ts';
import { holdsRenew } from './operations/holds-renew.ts';
import { holdsSettle } from './operations/holds-settle.ts';
import { holdsTake } from './operations/holds-take.ts';
import { keysSpending } from './operations/keys-spending.ts';
import { logsGet } from './operations/logs-get.ts';
import { logsList } from './operations/logs-list.ts';
import { refundsCreate } from './operations/refunds-create.ts';
import { statementsEvents, statementsGet, statementsList } from './operations/statements.ts';
import { usageGet } from './operations/usage-get.ts';
import type { Partition } from './partitions/partition.ts';
import type { Progress } from './progress.ts';
import { answered, DatabaseSilent } from './store/answered.ts';
import type { Store } from './store/store.ts';

/** What an operation may use. */
export interface BillingDeps {
  readonly bus: Bus;
  readonly store: Store;
  /** The one that is served. */
  readonly partition: Partition;
  readonly progress: Progress;
  readonly accounts: Accounts;
  readonly records: AccountRecords;
  readonly watch: BooksWatch;
  readonly clock: Clock;
}

/** The whole of an answer, the wait for events included: well below what a caller waits. */
const ANSWER_MS_MAX = 12_000;
/** Seconds after which to ask again. */
const RETRY_AFTER_S = 2;

export function register(host: ServiceHost, deps: BillingDeps): void {
  const handle = <N extends OperationName>(
    name: N,
    answer: (request: OperationRequest<N>, context: OperationContext) => Promise<OperationResponse<N>>,
  ) => host.handle(name, answer, deps.partition.places);
  handle('account.get', (request) => orUnavailable(accountGet(request, deps)));
  handle('account.audit', (request) => orUnavailable(accountAudit(request, deps)));
  handle('keys.spending', (request) => orUnavailable(keysSpending(request, deps)));
  handle('credits.create', (request) => orUnavailable(creditsCreate(request, deps)));
  handle('credits.list', (request) => orUnavailable(creditsList(request, deps)));
  handle('holds.take', (request, context) => orUnavailable(holdsTake(request, deps, context)));
  handle('holds.settle', (request) => holdsSettle(request, deps));
  handle('holds.renew', (request) => orUnavailable(holdsRenew(request, deps)));
  handle('refunds.create', (request) => orUnavailable(refundsCreate(request, deps)));
  handle('statements.list', (request) => orUnavailable(statementsList(request, deps)));
  handle('statements.get', (request) => orUnavailable(statementsGet(request, deps)));
  handle('statements.events', (request) => orUnavailable(statementsEvents(request, deps)));
  handle('usage.get', (request) => orUnavailable(usageGet(request, deps)));
  handle('logs.list', (request) => orUnavailable(logsList(request, deps)));
  handle('logs.get', (request) => orUnavailable(logsGet(request, deps)));
}

/** A database or a stream that does not answer is a matter of time, not a fault of the question. */
const AWAY = [MongoError, DatabaseSilent, JetStreamError, TimeoutError];

async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answered(answer, ANSWER_MS_MAX);
  } catch (cause) {
    if (!AWAY.some((kind) => cause instanceof kind)) throw cause;
    throw new ServiceError('service_unavailable', 'usage and logs are away for a moment: try again', {
      cause,
      retryAfterS: RETRY_AFTER_S,
    });
  }
}
