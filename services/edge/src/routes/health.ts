// The probes at the public port. Metrics are at HEALTH_PORT only (libs/service).
import type { Bus } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { pageRoute, type Route } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';

export function healthRoutes(bus: Pick<Bus, 'connected'>): Route[] {
  return [
    pageRoute('/livez', (_request, reply) => sendJson(reply, { ok: true })),
    pageRoute('/readyz', (_request, reply) => {
      if (!bus.connected)
        throw new ServiceError('service_unavailable', 'The edge cannot serve now. Retry later.', {
          retryAfterS: 1,
        });
      sendJson(reply, { ok: true });
    }),
  ];
}
