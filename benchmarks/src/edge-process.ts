// An edge beside that of a stack.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ownPort, temporaryFolder } from '@switchyard/testing';

const MAIN = join(import.meta.dirname, '../../services/edge/src/main.ts');
const READY_TRIES_MAX = 300;
const POLL_MS = 100;

export interface EdgeProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts an edge and waits until it answers. @throws Error when it does not within half a minute */
export async function startEdge(natsUrl: string): Promise<EdgeProcess> {
  const port = String(await ownPort());
  const env = {
    ...{ PATH: process.env.PATH, HOME: process.env.HOME, NATS_URL: natsUrl, PORT: port },
    ...{ SWITCHYARD_DATA: await temporaryFolder('edge'), SWITCHYARD_COMPUTERS: 'off', LOG_LEVEL: 'error' },
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill();
    await exited;
  };
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < READY_TRIES_MAX; tries++) {
    const answer = await fetch(`${url}/v1/openapi.json`).catch(() => null);
    if (answer?.ok) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  await stop();
  throw new Error('an edge did not start');
}
