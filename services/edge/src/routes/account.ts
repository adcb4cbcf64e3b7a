import { hash } from 'node:crypto';
import { type Bus, request } from '@switchyard/bus';
import {
  accountObject,
  allows,
  auditLog,
  auditLogQuery,
  createRefundRequest,
  ID_PREFIXES,
  newId,
  refundObject,
  ServiceError,
  updateAccountRequest,
} from '@switchyard/contracts';
import { jsonRoute, type Route } from '../http/route.ts';
import { operationRoutes } from './operation-route.ts';

const MAY_READ = { tag: 'Account', permission: 'usage:read' } as const;
const MAY_CHANGE = { tag: 'Account', permission: 'operator' } as const;

export function accountRoutes(bus: Bus): Route[] {
  const read = operationRoutes(bus, MAY_READ);
  const change = operationRoutes(bus, MAY_CHANGE);
  return [
    read('account.get', {
      method: 'GET',
      path: '/v1/account',
      operationId: 'getAccount',
      summary: 'How your org pays, what it has spent, and what is left of its credits',
      answer: 'The account',
    }),
    read('account.audit', {
      method: 'GET',
      path: '/v1/account/audit',
      operationId: 'auditAccount',
      summary:
        'The last day of your bill, added up from the ledger, from Logs and from Usage: the drift is 0',
      answer: 'The sums, and by how much they differ',
    }),
    jsonRoute(
      {
        ...MAY_CHANGE,
        method: 'PATCH',
        path: '/v1/account',
        operationId: 'updateAccount',
        summary: 'Change how your org pays, or what it may spend in a month',
        request: { body: updateAccountRequest },
        response: { status: 200, description: 'The account as it is now', body: accountObject },
      },
      async ({ key, body, requestId }) => {
        const caller = { org: key.org, key_id: key.id };
        await request(bus, 'orgs.update', { ...caller, id: key.org, body }, { requestId });
        return request(bus, 'account.get', caller);
      },
    ),
    change('credits.create', {
      method: 'POST',
      path: '/v1/credits',
      operationId: 'createCredit',
      summary: 'Grant credits to your org: a prepaid org spends them, and is refused when they are used up',
      repeatable: false, // a repeat without an Idempotency-Key would grant the credits twice
      status: 201,
      answer: 'The credit, in the ledger',
    }),
    jsonRoute(
      {
        ...MAY_CHANGE,
        method: 'POST',
        path: '/v1/refunds',
        operationId: 'createRefund',
        summary: 'Refund a charge, in whole or in part: at most what is left of it',
        request: { body: createRefundRequest },
        repeatable: false, // a repeat without an Idempotency-Key would refund twice, if enough is left
        response: { status: 201, description: 'The refund, in the ledger', body: refundObject },
        errors: ['charge_not_found', 'refund_exceeds_charge'],
      },
      ({ key, body, idempotencyKey, requestId }) => {
        const refund_id = refundIdOf(key.org, idempotencyKey);
        const ask = { org: key.org, key_id: key.id, refund_id, body };
        return request(bus, 'refunds.create', ask, { requestId });
      },
    ),
    jsonRoute(
      {
        ...MAY_READ,
        method: 'GET',
        path: '/v1/audit-log',
        operationId: 'listAuditLog',
        summary:
          'Who created, changed and revoked what, newest first: of all orgs for an operator, else of your own',
        request: { query: auditLogQuery },
        response: { status: 200, description: 'The lines of the audit log', body: auditLog },
        errors: ['org_not_found'],
      },
      ({ key, query }) => {
        const all_orgs = allows(key.permissions, 'operator');
        if (!all_orgs && query.org !== undefined && query.org !== key.org)
          throw new ServiceError('org_not_found', `Org not found: ${query.org}. Leave org out.`, {
            param: 'org',
          });
        return request(bus, 'audit-log.list', { org: key.org, key_id: key.id, all_orgs, query });
      },
    ),
    read('credits.list', {
      method: 'GET',
      path: '/v1/credits',
      operationId: 'listCredits',
      summary: 'List the credits of your org, newest first',
      answer: 'The credits',
    }),
  ];
}

/** One `Idempotency-Key` gives one refund id, also when the outcome of the first attempt is unknown. */
export function refundIdOf(org: string, idempotencyKey: string | null): string {
  if (idempotencyKey === null) return newId('refund');
  return ID_PREFIXES.refund + hash('sha256', `${org}\n${idempotencyKey}`, 'base64url').slice(0, 20);
}
