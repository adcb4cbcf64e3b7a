// The probes at the public port. Metrics are at HEALTH_PORT only (libs/service).
import type { Bus } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import { jsonRoute, type Route } from '../http/route.ts';

const body = z.object({ ok: z.literal(true) });
const probe = { method: 'GET', permission: 'public', tag: 'Operations', request: {} } as const;

export function healthRoutes(bus: Pick<Bus, 'connected'>): Route[] {
  return [
    jsonRoute(
      {
        ...probe,
        path: '/livez',
        summary: 'Whether this process is alive',
        response: { status: 200, description: 'It is', body },
      },
      async () => ({ ok: true as const }),
    ),
    jsonRoute(
      {
        ...probe,
        path: '/readyz',
        summary: 'Whether this edge can serve',
        response: { status: 200, description: 'It can', body },
      },
      async () => {
        if (!bus.connected)
          throw new ServiceError('service_unavailable', 'The edge cannot serve now. Retry later.', {
            retryAfterS: 1,
          });
        return { ok: true as const };
      },
    ),
  ];
}
