// What billing serves: the only wiring list.
import { JetStreamError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import type { Bucket, Bus, ServiceHost } from '@switchyard/bus';
import { type OrgRecord, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { MongoError } from 'mongodb';
import type { Accounts } from './accounts/accounts.ts';
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
import type { Progress } from './progress.ts';
import { answered, DatabaseSilent } from './store/answered.ts';
import type { Store } from './store/store.ts';

/** What an operation may use. */
export interface BillingDeps {
  readonly bus: Bus;
  readonly store: Store;
  readonly progress: Progress;
  readonly accounts: Accounts;
  readonly orgs: Bucket<OrgRecord>;
  readonly watch: BooksWatch;
  readonly clock: Clock;
}

/** The whole of an answer, the wait for events included: well below what a caller waits. */
const ANSWER_MS_MAX = 12_000;
/** Seconds after which to ask again. */
const RETRY_AFTER_S = 2;

export function register(host: ServiceHost, deps: BillingDeps): void {
  host.handle('account.get', (request) => orUnavailable(accountGet(request, deps)));
  host.handle('account.audit', (request) => orUnavailable(accountAudit(request, deps)));
  host.handle('keys.spending', (request) => orUnavailable(keysSpending(request, deps)));
  host.handle('credits.create', (request) => orUnavailable(creditsCreate(request, deps)));
  host.handle('credits.list', (request) => orUnavailable(creditsList(request, deps)));
  host.handle('holds.take', (request, context) => orUnavailable(holdsTake(request, deps, context)));
  host.handle('holds.settle', (request) => holdsSettle(request, deps));
  host.handle('holds.renew', (request) => orUnavailable(holdsRenew(request, deps)));
  host.handle('refunds.create', (request) => orUnavailable(refundsCreate(request, deps)));
  host.handle('statements.list', (request) => orUnavailable(statementsList(request, deps)));
  host.handle('statements.get', (request) => orUnavailable(statementsGet(request, deps)));
  host.handle('statements.events', (request) => orUnavailable(statementsEvents(request, deps)));
  host.handle('usage.get', (request) => orUnavailable(usageGet(request, deps)));
  host.handle('logs.list', (request) => orUnavailable(logsList(request, deps)));
  host.handle('logs.get', (request) => orUnavailable(logsGet(request, deps)));
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
