/** A real nats-server for one test file, with JetStream on files of its own. */
import { join } from 'node:path';
import { findNatsServer, natsServerProcess, ROOT, toolsCacheFolder } from '@switchyard/local';
import { ownPort } from './own-port.ts';
import { startTestServer, type TestServer, temporaryFolder } from './test-server.ts';

export interface StartNatsOptions {
  /** Replaces the configuration file of `npm start`. */
  readonly configFile?: string;
}

const HOST = '127.0.0.1';

/**
 * @example
 * const nats = await startNats();
 * afterAll(() => nats.stop());
 */
export async function startNats(options: StartNatsOptions = {}): Promise<TestServer> {
  // Not the server of NATS_URL: tests kill their server.
  const { NATS_URL: _, ...env } = process.env;
  const cacheFolder = toolsCacheFolder(env);
  const server = await findNatsServer({ env, cacheFolder, containers: false, doing: () => {} });
  if (server.kind === 'address') throw new Error('a test has a server of its own');
  const port = await ownPort(HOST);
  const folder = await temporaryFolder('nats');
  const configFile = options.configFile ?? join(ROOT, 'infra', 'nats', 'server.conf');
  const spec = natsServerProcess({
    name: 'nats',
    server,
    host: HOST,
    port,
    storeFolder: folder,
    configFile,
    env,
  });
  return startTestServer(spec, { port, url: `nats://${HOST}:${port}`, folder });
}
