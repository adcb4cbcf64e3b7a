import { type Bus, request } from '@switchyard/bus';
import { logEntry, logList, logsQuery, usageQuery, usageReport } from '@switchyard/contracts';
import { z } from 'zod';
import { jsonRoute, type Route } from '../http/route.ts';

const TAG = 'Usage and logs';

export function usageRoutes(bus: Bus): Route[] {
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/usage',
        permission: 'usage:read',
        tag: TAG,
        summary: 'What was used and what it cost; every answered call and ended minute is in it',
        request: { query: usageQuery },
        response: { status: 200, description: 'The report', body: usageReport },
        errors: ['invalid_request', 'unknown_field', 'service_unavailable'],
      },
      ({ key, query }) => request(bus, 'usage.get', { org: key.org, key_id: key.id, query }),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/logs',
        permission: 'usage:read',
        tag: TAG,
        summary: 'Every call and every minute of a computer, newest first',
        request: { query: logsQuery },
        response: { status: 200, description: 'The logs', body: logList },
        errors: ['invalid_request', 'unknown_field', 'service_unavailable'],
      },
      ({ key, query }) => request(bus, 'logs.list', { org: key.org, key_id: key.id, query }),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/logs/{request_id}',
        permission: 'usage:read',
        tag: TAG,
        summary: 'One call, with every attempt that was made',
        request: { params: z.object({ request_id: z.string().describe('X-Request-Id of the call') }) },
        response: { status: 200, description: 'The log', body: logEntry },
        errors: ['log_not_found', 'service_unavailable'],
      },
      ({ key, params }) => request(bus, 'logs.get', { org: key.org, key_id: key.id, id: params.request_id }),
    ),
  ];
}
