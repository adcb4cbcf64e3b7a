// /healthz and /metrics for a service without its own HTTP server: for container health checks and Prometheus.
import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';

export function makeMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export interface HealthOptions {
  host: string;
  port: number;
  metrics: Registry;
  healthy: () => boolean;
}

export function serveHealth({ host, port, metrics, healthy }: HealthOptions): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.url === '/healthz') {
      const ok = healthy();
      response.writeHead(ok ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ok }));
    } else if (request.url === '/metrics') {
      response.writeHead(200, { 'content-type': metrics.contentType });
      response.end(await metrics.metrics());
    } else {
      response.writeHead(404);
      response.end();
    }
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}
