// An edge beside that of a stack.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ownPort, temporaryFolder } from '@switchyard/testing';

const MAIN = join(import.meta.dirname, '../../services/edge/src/main.ts');

interface EdgeProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts an edge and waits until it is ready. @throws Error when it ends before */
export async function startEdge(natsUrl: string): Promise<EdgeProcess> {
  const port = String(await ownPort());
  const env = {
    ...{ PATH: process.env.PATH, HOME: process.env.HOME, NATS_URL: natsUrl, PORT: port },
    ...{ SWITCHYARD_DATA: await temporaryFolder('edge'), SWITCHYARD_COMPUTERS: 'off', LOG_LEVEL: 'error' },
  };
  const child = fork(MAIN, { env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const exited = once(child, 'exit');
  await Promise.race([
    once(child, 'message'),
    exited.then(() => Promise.reject(new Error('an edge did not start'))),
  ]);
  const stop = async () => {
    child.kill();
    await exited;
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
