// For tests: the machine's Docker engine behind a proxy that holds back or fails requests until the test lets them
// through.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { temporaryFolder } from '@switchyard/testing';
import Docker from 'dockerode';
import { rm } from 'node:fs/promises';

export interface HeldEngine {
  readonly docker: Docker;
  /** From now on, requests such as `POST /containers/create` wait. Resolves when the first one has arrived. */
  hold(what: RegExp): Promise<void>;
  /** From now on, such requests are answered with 500. */
  fail(what: RegExp): void;
  /** Lets all requests through, those that wait as well. */
  release(): void;
  close(): Promise<void>;
}

export async function openHeldEngine(): Promise<HeldEngine> {
  const folder = await temporaryFolder('held-engine');
  const socketPath = join(folder, 'docker.sock');
  let held: RegExp | null = null;
  let failing: RegExp | null = null;
  let arrived = Promise.withResolvers<void>();
  let open = Promise.withResolvers<void>();
  const server = createServer(async (asked, answer) => {
    const { method, url = '/', headers } = asked;
    if (held?.test(`${method} ${url}`)) {
      arrived.resolve();
      await open.promise;
    }
    if (failing?.test(`${method} ${url}`)) {
      asked.resume();
      return void answer.writeHead(500, { 'content-type': 'application/json' }).end('{"message":"as a test"}');
    }
    const forwarded = request({ socketPath: '/var/run/docker.sock', method, path: url, headers });
    forwarded.once('response', (response) => {
      answer.writeHead(response.statusCode ?? 0, response.headers);
      pipeline(response, answer, () => {});
    });
    pipeline(asked, forwarded, (error) => error && answer.destroy());
  });
  await once(server.listen(socketPath), 'listening');
  return {
    docker: new Docker({ socketPath }),
    hold(what) {
      held = what;
      arrived = Promise.withResolvers<void>();
      open = Promise.withResolvers<void>();
      return arrived.promise;
    },
    fail(what) {
      failing = what;
    },
    release() {
      held = null;
      failing = null;
      open.resolve();
    },
    async close() {
      open.resolve();
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
