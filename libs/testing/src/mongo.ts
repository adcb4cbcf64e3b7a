/** MongoDB for tests: an own database on a shared server, or an own server for tests that kill it. */
import { randomBytes } from 'node:crypto';
import {
  createDebianPackages,
  findMongoServer,
  MONGO_HOST,
  mongoServerProcess,
  toolsCacheFolder,
} from '@switchyard/local';
import { MongoClient } from 'mongodb';
import { ownPort } from './own-port.ts';
import { startTestServer, type TestServer, temporaryFolder } from './test-server.ts';

export interface TestDatabase {
  readonly url: string;
  /** A name that is unique among tests. */
  readonly database: string;
  /** Drops the database. */
  stop(): Promise<void>;
}

const NAME_BYTES = 8;

/**
 * A fresh database on the server of `npm test` (SWITCHYARD_TEST_MONGODB_URL), else on that of MONGODB_URL, else on
 * one started for it.
 */
export async function mongo(): Promise<TestDatabase> {
  const database = `test_${randomBytes(NAME_BYTES).toString('hex')}`;
  const shared = process.env.SWITCHYARD_TEST_MONGODB_URL || process.env.MONGODB_URL;
  if (!shared) {
    const server = await startMongo();
    return { url: server.url, database, stop: () => server.stop() };
  }
  return {
    url: shared,
    database,
    async stop() {
      const client = await MongoClient.connect(shared);
      await client.db(database).dropDatabase();
      await client.close();
    },
  };
}

/** An own MongoDB server, for tests that kill it: `mongod` if installed, otherwise the stand-in. */
export async function startMongo(): Promise<TestServer> {
  const { MONGODB_URL: _, ...env } = process.env;
  const folder = await temporaryFolder('mongo');
  const cacheFolder = toolsCacheFolder(env);
  const packages = createDebianPackages(env);
  const server = await findMongoServer({
    env,
    cacheFolder,
    packages,
    containers: false,
    folder,
    doing: () => {},
  });
  if (server.kind === 'address') throw new Error('a test has a server of its own');
  const port = await ownPort(MONGO_HOST);
  const spec = await mongoServerProcess({ name: 'mongo', server, port, folder, env });
  return startTestServer(spec, { port, url: `mongodb://${MONGO_HOST}:${port}`, folder });
}
