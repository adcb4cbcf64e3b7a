import type { Bus } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { jsonRoute, publicRoute, type Route } from '../http/route.ts';

export function healthRoutes(bus: Bus, metrics: Registry): Route[] {
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/healthz',
        permission: 'public',
        tag: 'Operations',
        summary: 'Whether this edge can serve: its bus is connected',
        request: {},
        response: { status: 200, description: 'It can', body: z.object({ ok: z.literal(true) }) },
      },
      async () => {
        if (!bus.connected)
          throw new ServiceError('service_unavailable', 'The edge is not connected to NATS. Retry later.', {
            retryAfterS: 1,
          });
        return { ok: true };
      },
    ),
    publicRoute(
      {
        method: 'GET',
        path: '/metrics',
        tag: 'Operations',
        summary: 'Metrics for Prometheus',
        response: { status: 200, description: 'Metrics', contentType: 'text/plain' },
      },
      async (_request, reply) => {
        await reply.header('content-type', metrics.contentType).send(await metrics.metrics());
      },
    ),
  ];
}
