// Orgs, for the operator: tenants with their own keys, bill, computers and files.
import { type Bus, request } from '@switchyard/bus';
import {
  accountObject,
  createCreditRequest,
  createRefundRequest,
  creditObject,
  DELETED_ORG_DAYS,
  refundObject,
  usageHttpQuery,
  usageReport,
} from '@switchyard/contracts';
import { z } from 'zod';
import { check } from '../http/read-body.ts';
import { jsonRoute, type Route, rawRoute } from '../http/route.ts';
import { refundIdOf } from './account.ts';
import { operationRoutes } from './operation-route.ts';
import { AS_TEXT, answerUsage } from './usage.ts';

const COMMON = { tag: 'Orgs', permission: 'operator' } as const;
const params = z.object({ id: z.string().describe('Id of the org') });

export function orgRoutes(bus: Bus): Route[] {
  const operation = operationRoutes(bus, COMMON);
  return [
    operation('orgs.create', {
      method: 'POST',
      path: '/v1/orgs',
      operationId: 'createOrg',
      summary: 'Create an org; only this answer ever shows its first key',
      repeatable: false, // a repeat without an Idempotency-Key would make a second org
      status: 201,
      answer: 'The org, with its first key',
    }),
    operation('orgs.list', {
      method: 'GET',
      path: '/v1/orgs',
      operationId: 'listOrgs',
      summary: 'List all orgs, by id',
      answer: 'The orgs',
    }),
    operation('orgs.get', {
      method: 'GET',
      path: '/v1/orgs/{id}',
      operationId: 'getOrg',
      summary: 'One org',
      params,
      answer: 'The org',
      errors: ['org_not_found'],
    }),
    operation('orgs.update', {
      method: 'PATCH',
      path: '/v1/orgs/{id}',
      operationId: 'updateOrg',
      summary: 'Change, suspend or restore an org: omitted fields stay as they are',
      params,
      answer: 'The org as it is now',
      errors: ['org_not_found'],
    }),
    operation('orgs.delete', {
      method: 'DELETE',
      path: '/v1/orgs/{id}',
      operationId: 'deleteOrg',
      summary: `Suspend an org at once, and remove its data after ${DELETED_ORG_DAYS} days; its bill is kept`,
      params,
      answer: 'The org, and when its data are removed',
      errors: ['invalid_request', 'org_not_found'],
    }),
    operation('orgs.keys.create', {
      method: 'POST',
      path: '/v1/orgs/{id}/keys',
      operationId: 'createOrgKey',
      summary: 'Create an API key of an org; only this answer ever shows it',
      repeatable: false, // a repeat would make a second key
      params,
      status: 201,
      answer: 'The key',
      errors: ['org_not_found'],
    }),
    ...moneyRoutes(bus),
  ];
}

/** As GET /v1/account, GET /v1/usage, POST /v1/credits and POST /v1/refunds, for another org. */
function moneyRoutes(bus: Bus): Route[] {
  return [
    jsonRoute(
      {
        ...COMMON,
        method: 'GET',
        path: '/v1/orgs/{id}/account',
        operationId: 'getOrgAccount',
        summary: 'How an org pays, what it has spent, and what is left of its credits',
        request: { params },
        response: { status: 200, description: 'The account', body: accountObject },
        errors: ['org_not_found'],
      },
      async ({ key, params: { id } }) => {
        await request(bus, 'orgs.get', { org: key.org, key_id: key.id, id });
        return request(bus, 'account.get', { org: id, key_id: key.id });
      },
    ),
    rawRoute(
      {
        ...COMMON,
        method: 'GET',
        path: '/v1/orgs/{id}/usage',
        operationId: 'getOrgUsage',
        summary: 'Usage of an org and its cost',
        request: { params, query: usageHttpQuery },
        response: { status: 200, description: 'The report', body: usageReport, asText: AS_TEXT },
        errors: ['org_not_found'],
      },
      async (asked, reply, key) => {
        const { id } = check(params, asked.params);
        await request(bus, 'orgs.get', { org: key.org, key_id: key.id, id });
        await answerUsage(bus, asked, reply, { org: id, key_id: key.id });
      },
    ),
    jsonRoute(
      {
        ...COMMON,
        method: 'POST',
        path: '/v1/orgs/{id}/credits',
        operationId: 'createOrgCredit',
        summary: 'Grant credits to an org: a prepaid org spends them, and is refused when they are used up',
        request: { params, body: createCreditRequest },
        repeatable: false, // a repeat without an Idempotency-Key would grant the credits twice
        response: { status: 201, description: 'The credit, in the ledger', body: creditObject },
        errors: ['org_not_found'],
      },
      async ({ key, params: { id }, body, requestId }) => {
        await request(bus, 'orgs.get', { org: key.org, key_id: key.id, id });
        return request(bus, 'credits.create', { org: id, key_id: key.id, body }, { requestId });
      },
    ),
    jsonRoute(
      {
        ...COMMON,
        method: 'POST',
        path: '/v1/orgs/{id}/refunds',
        operationId: 'createOrgRefund',
        summary: 'Refund a charge of an org, in whole or in part: at most what is left of it',
        request: { params, body: createRefundRequest },
        repeatable: false, // a repeat without an Idempotency-Key would refund twice, if enough is left
        response: { status: 201, description: 'The refund, in the ledger', body: refundObject },
        errors: ['org_not_found', 'charge_not_found', 'refund_exceeds_charge'],
      },
      async ({ key, params: { id }, body, idempotencyKey, requestId }) => {
        await request(bus, 'orgs.get', { org: key.org, key_id: key.id, id });
        const refund_id = refundIdOf(id, idempotencyKey);
        return request(bus, 'refunds.create', { org: id, key_id: key.id, refund_id, body }, { requestId });
      },
    ),
  ];
}
