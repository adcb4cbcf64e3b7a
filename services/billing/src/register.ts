// Wires every operation that billing serves.
import { JetStreamError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import type { OperationHandler, ServiceHost } from '@switchyard/bus';
import { type OperationName, ServiceError } from '@switchyard/contracts';
import { Locks } from '@switchyard/service';
import { MongoError } from 'mongodb';
import type { Accounts } from './accounts/accounts.ts';
import type { AccountRecords } from './accounts/records.ts';
import type { BooksWatch } from './audit/watch.ts';
import { accountAudit } from './operations/account-audit.ts';
import { accountGet } from './operations/account-get.ts';
import { auditLogList } from './operations/audit-log.ts';
import { creditsCreate, creditsList } from './operations/credits.ts';
import { holdsRenew, holdsSettle, holdsTake } from './operations/holds.ts';
import { hostHoldsRenew, hostHoldsSettle, hostHoldsTake } from './operations/host-holds.ts';
import { keysSpending } from './operations/keys-spending.ts';
import { logsGet, logsList } from './operations/logs.ts';
import { refundsCreate } from './operations/refunds-create.ts';
import { statementsEvents, statementsGet, statementsList } from './operations/statements.ts';
import { usageGet } from './operations/usage-get.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { answered, DatabaseSilent } from './store/answered.ts';
import { CALLER_MS_MAX } from './when-complete.ts';

/** Dependencies of the operations. */
export interface BillingDeps
  extends Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'progress' | 'clock'> {
  readonly accounts: Accounts;
  readonly records: AccountRecords;
  readonly watch: BooksWatch;
}

/** `Retry-After` of a temporary failure, in seconds. */
const RETRY_AFTER_S = 2;

export function register(host: ServiceHost, deps: BillingDeps): void {
  const reports = new Locks();
  const handle = <N extends OperationName>(name: N, answer: OperationHandler<N>) =>
    host.handle(name, (request, context) => orUnavailable(answer(request, context)), deps.partition.places);
  handle('account.get', (request) => accountGet(request, deps));
  handle('account.audit', (request) => accountAudit(request, deps));
  handle('audit-log.list', (request) => auditLogList(request, deps));
  handle('keys.spending', (request) => keysSpending(request, deps));
  handle('credits.create', (request) => creditsCreate(request, deps));
  handle('credits.list', (request) => creditsList(request, deps));
  handle('holds.take', (request, context) => holdsTake(request, deps, context));
  handle('holds.settle', (request) => holdsSettle(request, deps));
  handle('holds.renew', (request) => holdsRenew(request, deps));
  handle('host-holds.take', (request, context) => hostHoldsTake(request, deps, context));
  handle('host-holds.settle', (request) => hostHoldsSettle(request, deps));
  handle('host-holds.renew', (request) => hostHoldsRenew(request, deps));
  handle('refunds.create', (request) => refundsCreate(request, deps));
  handle('statements.list', (request) => statementsList(request, deps));
  handle('statements.get', (request, { signal }) => statementsGet(request, deps, whileAsked(signal)));
  handle('statements.events', (request) => statementsEvents(request, deps));
  handle('usage.get', (request, { signal }) => usageGet(request, { ...deps, reports }, whileAsked(signal)));
  handle('logs.list', (request) => logsList(request, deps));
  handle('logs.get', (request) => logsGet(request, deps));
}

/** Errors of an unavailable database or stream: temporary, not caused by the request. */
const TEMPORARY_ERRORS = [MongoError, DatabaseSilent, JetStreamError, TimeoutError];

/** Ends with the caller, and with the time limit of an answer. */
function whileAsked(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(CALLER_MS_MAX)]);
}

async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answered(answer, CALLER_MS_MAX);
  } catch (cause) {
    if (!TEMPORARY_ERRORS.some((kind) => cause instanceof kind)) throw cause;
    throw new ServiceError('service_unavailable', 'Billing is unavailable. Retry later.', {
      cause,
      retryAfterS: RETRY_AFTER_S,
    });
  }
}
