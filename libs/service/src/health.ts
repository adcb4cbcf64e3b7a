// The health server of a process: /livez, /readyz and /metrics on HEALTH_PORT, for probes and Prometheus.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

interface HealthOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  metrics: Registry;
  /** Whether the service can serve at this moment. */
  ready: () => boolean;
}

export interface HealthServer {
  /** http://host:port, with the actual port. */
  url: string;
  /** Closes the server and its connections. */
  close(): void;
}

/** Serves the probes. `/livez` answers 200 while the process runs, `/readyz` 200 while it can serve, else 503. */
export async function serveHealth({ host, port, metrics, ready }: HealthOptions): Promise<HealthServer> {
  const server = createServer(async (request, response) => {
    if (request.url === '/metrics') {
      // A rejection that nothing handles would end the service.
      await metrics.metrics().then(
        (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
        (error: unknown) => response.writeHead(500).end(`A metric could not be read: ${String(error)}`),
      );
      return;
    }
    const probes: Readonly<Record<string, () => boolean>> = { '/livez': () => true, '/readyz': ready };
    const probe = probes[request.url ?? ''];
    if (probe === undefined) {
      response.writeHead(404).end();
      return;
    }
    const ok = probe();
    response.writeHead(ok ? 200 : 503, { 'content-type': 'application/json' }).end(JSON.stringify({ ok }));
  });
  await listening(server, host, port);
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}
