import { type Bus, request } from '@switchyard/bus';
import {
  type Caller,
  type KeyRecord,
  logEntry,
  logList,
  logsHttpQuery,
  usageHttpQuery,
  usageReport,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { sendBytes } from '../http/pass-bytes.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { jsonRoute, type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { logsText } from '../reports/logs-text.ts';
import { MEDIA_TYPES, rowFormatOf, textHeaders } from '../reports/row-format.ts';
import { usageText } from '../reports/usage-text.ts';

const TAG = 'Usage and logs';
export const AS_TEXT = Object.values(MEDIA_TYPES);

interface UsageRoutesDeps {
  readonly bus: Bus;
  /** Open exports by key; they may take long, and end with their key. */
  readonly open: OpenRelays;
}

export function usageRoutes(deps: UsageRoutesDeps): Route[] {
  return [
    rawRoute(
      {
        method: 'GET',
        path: '/v1/usage',
        operationId: 'getUsage',
        permission: 'usage:read',
        tag: TAG,
        summary: 'Usage and its cost; it has every answered call and ended minute',
        request: { query: usageHttpQuery },
        response: { status: 200, description: 'The report', body: usageReport, asText: AS_TEXT },
      },
      (request, reply, key) => answerUsage(deps.bus, request, reply, { org: key.org, key_id: key.id }),
    ),
    rawRoute(
      {
        method: 'GET',
        path: '/v1/logs',
        operationId: 'listLogs',
        permission: 'usage:read',
        tag: TAG,
        summary: 'Every call and every minute of a computer, newest first',
        description:
          'As CSV or NDJSON all rows come in one answer, up to a million; if there are more, the trailer `X-Next-Cursor` says where they begin.',
        request: { query: logsHttpQuery },
        response: { status: 200, description: 'The logs', body: logList, asText: AS_TEXT },
      },
      (request, reply, key) => answerLogs(deps, request, reply, key),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/logs/{request_id}',
        operationId: 'getLog',
        permission: 'usage:read',
        tag: TAG,
        summary: 'One call, with every attempt that was made',
        request: { params: z.object({ request_id: z.string().describe('X-Request-Id of the call') }) },
        response: { status: 200, description: 'The log', body: logEntry },
        errors: ['log_not_found'],
      },
      ({ key, params }) =>
        request(deps.bus, 'logs.get', { org: key.org, key_id: key.id, id: params.request_id }),
    ),
  ];
}

/** @param caller names the org of the report */
export async function answerUsage(
  bus: Bus,
  asked: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
): Promise<void> {
  const { format: wanted, ...query } = check(usageHttpQuery, asked.query);
  const format = rowFormatOf(asked, wanted);
  const signal = clientGone(asked, reply);
  const report = await request(bus, 'usage.get', { ...caller, query }, { signal });
  if (format === 'json') return sendJson(reply, report);
  reply.headers(textHeaders(format, 'usage', asked.id)).send(usageText(report, format));
}

async function answerLogs(
  { bus, open }: UsageRoutesDeps,
  asked: FastifyRequest,
  reply: FastifyReply,
  key: KeyRecord,
): Promise<void> {
  const { format: wanted, ...query } = check(logsHttpQuery, asked.query);
  const format = rowFormatOf(asked, wanted);
  const gone = clientGone(asked, reply);
  if (format === 'json')
    return sendJson(
      reply,
      await request(bus, 'logs.list', { org: key.org, key_id: key.id, query }, { signal: gone }),
    );
  const headers = textHeaders(format, 'logs', asked.id);
  if (asked.method === 'HEAD') return sendBytes(reply, { status: 200, headers }, null);
  const hasTrailers = asked.raw.httpVersion !== '1.0';
  if (hasTrailers) headers.trailer = NEXT_CURSOR_TRAILER;
  const onMore = (cursor: string) => {
    if (hasTrailers) reply.raw.addTrailers({ [NEXT_CURSOR_TRAILER]: cursor });
  };
  await whileKeyHolds(open, key, gone, (_key, signal) => {
    const rows = logsText({ bus, key, query, format, signal, onMore });
    return sendBytes(reply, { status: 200, headers }, rows, signal);
  });
}

const NEXT_CURSOR_TRAILER = 'x-next-cursor';
