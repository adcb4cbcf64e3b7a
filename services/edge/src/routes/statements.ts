import { type Bus, request } from '@switchyard/bus';
import {
  type KeyRecord,
  statement,
  statementEventList,
  statementEventsQuery,
  statementHttpQuery,
  statementList,
  statementMonth,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { check } from '../http/read-body.ts';
import { jsonRoute, type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { rowFormatOf, textHeaders } from '../reports/row-format.ts';
import { statementCsv, statementPage } from '../reports/statement-text.ts';

const TAG = 'Account';

const monthParams = z.object({ month: statementMonth });
const lineParams = monthParams.extend({ line: z.string().max(100).describe('Id of the line') });

export function statementRoutes(bus: Bus): Route[] {
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/statements',
        permission: 'usage:read',
        tag: TAG,
        summary: 'List the months of your org that have something in them, newest first',
        request: {},
        response: { status: 200, description: 'The months, with their sums', body: statementList },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'statements.list', { org: key.org, key_id: key.id }),
    ),
    rawRoute(
      {
        method: 'GET',
        path: '/v1/statements/{month}',
        permission: 'usage:read',
        tag: TAG,
        summary: 'What a month came to, line by line; two days after its end it never changes again',
        request: { params: monthParams, query: statementHttpQuery },
        response: {
          ...{ status: 200, description: 'The statement', body: statement },
          asText: ['text/csv', 'text/html'],
        },
        errors: ['invalid_request', 'unknown_field', 'service_unavailable'],
      },
      (asked, reply, key) => answerStatement(bus, asked, reply, key),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/statements/{month}/lines/{line}',
        permission: 'usage:read',
        tag: TAG,
        summary: 'The rows of the ledger that a line of a statement is the sum of, in their order',
        request: { params: lineParams, query: statementEventsQuery },
        response: { status: 200, description: 'The rows', body: statementEventList },
        errors: ['invalid_request', 'unknown_field', 'service_unavailable'],
      },
      ({ key, params, query }) =>
        request(bus, 'statements.events', { org: key.org, key_id: key.id, ...params, query }),
    ),
  ];
}

async function answerStatement(
  bus: Bus,
  asked: FastifyRequest,
  reply: FastifyReply,
  key: KeyRecord,
): Promise<void> {
  const { month } = check(monthParams, asked.params);
  const { format } = check(statementHttpQuery, asked.query);
  const answer = await request(bus, 'statements.get', { org: key.org, key_id: key.id, month });
  if (format === 'html') {
    reply.headers({ ...PAGE_HEADERS, 'x-request-id': asked.id }).send(statementPage(answer));
    return;
  }
  if (rowFormatOf(asked, format) !== 'csv') return sendJson(reply, answer);
  reply.headers(textHeaders('csv', `statement-${month}`, asked.id)).send(statementCsv(answer));
}

/** Nothing is fetched and nothing runs, whatever stands in a name. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'cache-control': 'no-store',
};
