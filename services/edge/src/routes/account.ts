import { hash } from 'node:crypto';
import { type Bus, request } from '@switchyard/bus';
import {
  accountAudit,
  accountObject,
  createCreditRequest,
  createRefundRequest,
  creditObject,
  ID_PREFIXES,
  listOf,
  newId,
  refundObject,
  updateAccountRequest,
} from '@switchyard/contracts';
import { jsonRoute, type Route } from '../http/route.ts';

const TAG = 'Account';

export function accountRoutes(bus: Bus): Route[] {
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/account',
        permission: 'usage:read',
        tag: TAG,
        summary: 'How your org pays, what it has spent, and what is left of its credits',
        request: {},
        response: { status: 200, description: 'The account', body: accountObject },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'account.get', { org: key.org, key_id: key.id }),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/account/audit',
        permission: 'usage:read',
        tag: TAG,
        summary:
          'The last day of your bill, added up from the ledger, from Logs and from Usage: the drift is 0',
        request: {},
        response: { status: 200, description: 'The sums, and by how much they differ', body: accountAudit },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'account.audit', { org: key.org, key_id: key.id }),
    ),
    jsonRoute(
      {
        method: 'PATCH',
        path: '/v1/account',
        permission: 'billing:write',
        tag: TAG,
        summary: 'Change how your org pays, or what it may spend in a month',
        request: { body: updateAccountRequest },
        response: { status: 200, description: 'The account as it is now', body: accountObject },
        errors: ['invalid_json', 'invalid_request', 'unknown_field', 'service_unavailable'],
      },
      async ({ key, body }) => {
        const caller = { org: key.org, key_id: key.id };
        await request(bus, 'account.update', { ...caller, body });
        return request(bus, 'account.get', caller);
      },
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/credits',
        permission: 'billing:write',
        tag: TAG,
        summary: 'Grant credits to your org: a prepaid org spends them, and is refused when they are used up',
        request: { body: createCreditRequest },
        repeatable: false, // a repeat without an Idempotency-Key would grant them twice
        response: { status: 201, description: 'The credit, in the ledger', body: creditObject },
        errors: ['invalid_json', 'invalid_request', 'unknown_field', 'service_unavailable'],
      },
      ({ key, body }) => request(bus, 'credits.create', { org: key.org, key_id: key.id, body }),
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/refunds',
        permission: 'billing:write',
        tag: TAG,
        summary: 'Give a charge back, in whole or in part: never more than is left of it',
        request: { body: createRefundRequest },
        repeatable: false, // a repeat without an Idempotency-Key would give back twice, where so much is left
        response: { status: 201, description: 'The refund, in the ledger', body: refundObject },
        errors: [
          ...(['invalid_json', 'invalid_request', 'unknown_field'] as const),
          ...(['charge_not_found', 'refund_exceeds_charge', 'service_unavailable'] as const),
        ],
      },
      ({ key, body, idempotencyKey }) => {
        const refundId = idempotencyKey === null ? newId('refund') : refundIdOf(key.org, idempotencyKey);
        return request(bus, 'refunds.create', { org: key.org, key_id: key.id, refund_id: refundId, body });
      },
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/credits',
        permission: 'usage:read',
        tag: TAG,
        summary: 'List the credits of your org, newest first',
        request: {},
        response: { status: 200, description: 'The credits', body: listOf(creditObject) },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'credits.list', { org: key.org, key_id: key.id }),
    ),
  ];
}

/** Under one `Idempotency-Key` one refund, also where the first try's end is not known. */
function refundIdOf(org: string, idempotencyKey: string): string {
  return ID_PREFIXES.refund + hash('sha256', `${org}\n${idempotencyKey}`, 'base64url').slice(0, 20);
}
