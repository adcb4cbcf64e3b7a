import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ownPort, startNats } from '@switchyard/testing';
import { Gauge } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { serveHealth } from './health.ts';
import { makeMetrics } from './metrics.ts';

const statusOf = async (url: string) => {
  const response = await fetch(url).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status;
};

test('the health server answers the probes and metrics, and nothing else', async () => {
  let ready = false;
  const options = { host: '127.0.0.1', port: 0, metrics: makeMetrics('test') };
  const server = await serveHealth({ ...options, ready: () => ready });
  onTestFinished(() => server.close());
  expect(await statusOf(`${server.url}/livez`)).toBe(200);
  expect(await statusOf(`${server.url}/readyz`)).toBe(503);
  ready = true;
  expect(await statusOf(`${server.url}/readyz`)).toBe(200);
  expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('process_cpu_seconds_total');
  expect(await statusOf(`${server.url}/v1/models`)).toBe(404);
});

test('a metric that cannot be read is an error of that answer only', async () => {
  const metrics = makeMetrics('test');
  const collect = () => {
    throw new Error('unavailable');
  };
  new Gauge({ name: 'broken', help: 'throws', registers: [metrics], collect });
  const server = await serveHealth({ host: '127.0.0.1', port: 0, metrics, ready: () => true });
  onTestFinished(() => server.close());
  expect(await statusOf(`${server.url}/metrics`)).toBe(500);
  expect(await statusOf(`${server.url}/livez`)).toBe(200);
});

test('a service is alive before it is ready, and ready while NATS is connected', async () => {
  const [nats, port] = [await startNats(), await ownPort()];
  onTestFinished(() => nats.stop());
  await nats.kill9();
  const service = idleService({ NATS_URL: nats.url, HEALTH_PORT: String(port) });
  const readyz = () => statusOf(`http://127.0.0.1:${port}/readyz`);
  await expect.poll(() => statusOf(`http://127.0.0.1:${port}/livez`)).toBe(200);
  expect(await readyz()).toBe(503);
  await nats.restart();
  await expect.poll(readyz).toBe(200);
  await nats.kill9();
  await expect.poll(readyz).toBe(503);
  expect(await statusOf(`http://127.0.0.1:${port}/livez`)).toBe(200);
  await nats.restart();
  await expect.poll(readyz).toBe(200);
  service.kill('SIGTERM');
  expect(await once(service, 'exit')).toEqual([0, null]);
});

function idleService(env: NodeJS.ProcessEnv): ChildProcess {
  const program = join(import.meta.dirname, '__fixtures__', 'idle-service.ts');
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, ...env, LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}
