// Targets measured side by side with one upstream: the upstream itself, a bare hop as the floor, peers, and
// Switchyard with keys, limits, exact prices and durable metering on.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createDebianPackages,
  ensurePythonPackages,
  findProgram,
  makeOnce,
  runCommand,
  toolsCacheFolder,
} from '@switchyard/local';
import { chatModel, type TestStack, writeTestCatalog } from '@switchyard/testing';
import type { Target } from './load.ts';
import { startMeasuredStack } from './measured-stack.ts';

export interface Gateway {
  readonly name: string;
  readonly target: Target;
  /** Every process that serves its calls. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

export interface Upstream {
  readonly url: string;
  stop(): void;
}

const BENCHMARKS = join(import.meta.dirname, '..');
const PORTKEY_VERSION = '1.15.2';
const PEER_START_MS_MAX = 60_000;
const INSTALL_MS_MAX = 300_000;
const POLL_MS = 50;
/** Programs of a stack whose CPU counts for its calls: all of them. */
const STACK = ['edge', 'control', 'model-router', 'video-worker', 'billing', 'nats', 'mongo'];

/** Starts the upstream that all gateways call, in a process of its own. */
export async function startFastUpstream(): Promise<Upstream> {
  const child = fork(join(import.meta.dirname, 'fast-upstream.ts'));
  const [url] = (await once(child, 'message')) as [string];
  return { url, stop: () => child.disconnect() };
}

export function directly(upstream: Upstream): Gateway {
  return {
    name: 'no gateway',
    target: { url: upstream.url, key: 'none', model: 'fast' },
    pids: [],
    stop: async () => {},
  };
}

export async function startBareHop(upstream: Upstream): Promise<Gateway> {
  const key = 'sk-floor';
  const child = fork(join(import.meta.dirname, 'bare-hop.ts'), [upstream.url, key]);
  const [url] = (await once(child, 'message')) as [string];
  return {
    name: 'bare hop',
    target: { url, key, model: 'fast' },
    pids: [pidOf(child)],
    stop: async () => child.disconnect(),
  };
}

/**
 * Portkey's gateway from npm, without authorization and logs. Installs it once per machine.
 * @throws CommandError when npm cannot install it
 */
export async function startPortkey(upstream: Upstream, port: number): Promise<Gateway> {
  const folder = join(toolsCacheFolder(process.env), `portkey-${PORTKEY_VERSION}`);
  await makeOnce(folder, installPortkey);
  const main = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const child = spawn(process.execPath, [main, `--port=${port}`, '--headless'], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  await untilServes(url);
  return {
    name: `Portkey ${PORTKEY_VERSION}`,
    target: {
      url: `${url}/v1`,
      key: 'sk-mock',
      model: 'fast',
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream.url },
    },
    pids: [pidOf(child)],
    stop: () => kill(child),
  };
}

/**
 * LiteLLM's proxy from PyPI, with a key and prices, and no database. Installs it once per machine.
 * @throws SetupError when Python is missing, CommandError when pip cannot install it
 */
export async function startLiteLlm(upstream: Upstream, port: number): Promise<Gateway> {
  const { env } = process;
  const requirements = join(BENCHMARKS, 'litellm-requirements.txt');
  const python = await ensurePythonPackages({ env, packages: createDebianPackages(env), requirements });
  const key = 'sk-benchmark';
  const config = join(BENCHMARKS, 'litellm.yaml');
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const args = ['-m', 'litellm.proxy.proxy_cli', '--config', config, ...address, '--num_workers', '1'];
  const child = spawn(python, args, {
    env: {
      ...env,
      ...{ UPSTREAM_URL: upstream.url, LITELLM_MASTER_KEY: key, LITELLM_MODE: 'PRODUCTION' },
      ...{ LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_TELEMETRY: 'False' },
      ...{ DISABLE_ADMIN_UI: 'True', NO_DOCS: 'True' },
    },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  await untilServes(`${url}/health/liveliness`);
  const [, version] = (await readFile(requirements, 'utf8')).trim().split('==');
  return {
    name: `LiteLLM ${version}`,
    target: { url: `${url}/v1`, key, model: 'fast' },
    pids: [pidOf(child)],
    stop: () => kill(child),
  };
}

/** The whole stack, as `npm start` runs it. */
export async function startSwitchyard(upstream: Upstream): Promise<Gateway & { readonly stack: TestStack }> {
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [chatModel('acme/fast', upstream.url, 'fast')],
  });
  const stack = await startMeasuredStack({ env: { SWITCHYARD_CATALOG: catalog } });
  return {
    name: 'Switchyard',
    target: { url: `${stack.url}/v1`, key: stack.key, model: 'acme/fast' },
    pids: await Promise.all(STACK.map((name) => stack.pidOf(name))),
    stack,
    stop: async () => void (await stack.stop()),
  };
}

async function installPortkey(folder: string): Promise<void> {
  // Versions that run together: a fresh resolution of its ranges does not start.
  const overrides = {
    ...{ hono: '4.9.7', '@hono/node-server': '1.13.5', '@hono/node-ws': '1.2.0' },
    ...{ ws: '8.18.3', ioredis: '5.8.0', jose: '6.0.11', zod: '3.25.76' },
  };
  const dependencies = { '@portkey-ai/gateway': PORTKEY_VERSION };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
  const npm = findProgram('npm', process.env.PATH) ?? 'npm';
  const args = ['install', '--no-audit', '--no-fund'];
  await runCommand(npm, args, { cwd: folder, env: process.env, timeoutMs: INSTALL_MS_MAX });
}

async function untilServes(url: string): Promise<void> {
  const deadline = performance.now() + PEER_START_MS_MAX;
  for (;;)
    try {
      await (await fetch(url)).body?.cancel();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill();
  await gone;
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the process did not start');
  return pid;
}
