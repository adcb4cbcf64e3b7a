import { type Bus, request } from '@switchyard/bus';
import { type KeyRecord, statement, statementHttpQuery, statementMonth } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { pageHeaders } from '../http/page-headers.ts';
import { check } from '../http/read-body.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { rowFormatOf, textHeaders } from '../reports/row-format.ts';
import { statementCsv, statementPage } from '../reports/statement-text.ts';
import { operationRoutes } from './operation-route.ts';

const COMMON = { tag: 'Account', permission: 'usage:read' } as const;

const monthParams = z.object({ month: statementMonth });
const lineParams = monthParams.extend({ line: z.string().max(100).describe('Id of the line') });

export function statementRoutes(bus: Bus): Route[] {
  const operation = operationRoutes(bus, COMMON);
  return [
    operation('statements.list', {
      method: 'GET',
      path: '/v1/statements',
      operationId: 'listStatements',
      summary: 'List the months of your org that have entries, newest first',
      answer: 'The months, with their sums',
    }),
    rawRoute(
      {
        method: 'GET',
        path: '/v1/statements/{month}',
        operationId: 'getStatement',
        ...COMMON,
        summary: 'The statement of a month, line by line; it is final two days after the month ends',
        request: { params: monthParams, query: statementHttpQuery },
        response: {
          ...{ status: 200, description: 'The statement', body: statement },
          asText: ['text/csv', 'text/html'],
        },
      },
      (asked, reply, key) => answerStatement(bus, asked, reply, key),
    ),
    operation('statements.events', {
      method: 'GET',
      path: '/v1/statements/{month}/lines/{line}',
      operationId: 'listStatementEvents',
      summary: 'The rows of the ledger that a line of a statement sums up, in order',
      params: lineParams,
      answer: 'The rows',
    }),
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
    reply
      .headers({ ...pageHeaders("style-src 'unsafe-inline'"), 'x-request-id': asked.id })
      .send(statementPage(answer));
    return;
  }
  if (rowFormatOf(asked, format) !== 'csv') return sendJson(reply, answer);
  reply.headers(textHeaders('csv', `statement-${month}`, asked.id)).send(statementCsv(answer));
}
