/**
 * A container registry for one test: go-containerregistry, built once per machine, behind a proxy in which the test can
 * make answers fail. Plain HTTP on loopback, which Docker accepts there.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { findProgram, makeOnce, runCommand, toolsCacheFolder } from '@switchyard/local';
import { ownPort } from './own-port.ts';
import { startTestServer, temporaryFolder } from './test-server.ts';

const run = promisify(execFile);

const VERSION = 'v0.20.6';
const GO_MODULE = `github.com/google/go-containerregistry/cmd/registry@${VERSION}`;
const BUILD_TIMEOUT_MS = 10 * 60_000;
const POLL_EVERY_MS = 20;
const HOST = '127.0.0.1';
const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const CONFIG = 'application/vnd.docker.container.image.v1+json';
const LAYER = 'application/vnd.docker.image.rootfs.diff.tar.gzip';
/** Bytes sent of a layer that stalls or is cut. */
const BEGINNING_BYTES = 1_024;

/**
 * A fault in an answer: another status, changed bytes, a missing end, a stall after the beginning, or a pause after
 * some bytes until the test releases it.
 */
export type RegistryFault =
  | { status: number }
  | { heldAfterBytes: number; until: Promise<void> }
  | 'changed'
  | 'cut'
  | 'stalled';

interface TestImage {
  /** Go's name; default: this machine's. */
  readonly architecture?: string;
  /** Unpacked size of its single layer. Default: 100 kB. */
  readonly bytes?: number;
  /** Zeros, which compress to a thousandth; default: random bytes, which do not compress. */
  readonly zeros?: boolean;
  /** Its bytes are a hole, which the layer only describes. */
  readonly sparse?: boolean;
  /** How often the image contains its layer. Default: once. */
  readonly times?: number;
  /** Number of empty files added. */
  readonly emptyFiles?: number;
  /** `config` of its configuration, like `{ Env: ['A=1'] }`. */
  readonly settings?: object;
}

export interface TestRegistry {
  /** `127.0.0.1:port`: the beginning of an image's name. */
  readonly address: string;
  /** Decides the fault of each request; undefined: none. */
  fault: (path: string) => RegistryFault | undefined;
  /** Requests so far: `GET /v2/…`. */
  readonly requests: readonly string[];
  /** Pushes an image whose layers no engine has yet, and returns its name. */
  push(repository: string, image?: TestImage): Promise<string>;
  stop(): Promise<void>;
}

export async function startRegistry(): Promise<TestRegistry> {
  const program = join(await builtRegistry(), 'registry');
  const port = await ownPort(HOST);
  const inner = `http://${HOST}:${port}`;
  const folder = await temporaryFolder('registry');
  const server = await startTestServer(
    {
      name: 'registry',
      command: program,
      args: ['-port', String(port)],
      cwd: folder,
      env: process.env,
      stopTimeoutMs: 1_000,
      ready: (signal) => untilAnswers(`${inner}/v2/`, signal),
    },
    { port, url: inner, folder },
  );
  const requests: string[] = [];
  const proxy = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    forward(inner, request, response, registry.fault(request.url ?? ''));
  });
  proxy.listen(0, HOST);
  await once(proxy, 'listening');
  const registry: TestRegistry = {
    address: `${HOST}:${(proxy.address() as AddressInfo).port}`,
    fault: () => undefined,
    requests,
    async push(repository, image = {}) {
      await pushImage(inner, repository, image);
      return `${registry.address}/${repository}:latest`;
    },
    async stop() {
      proxy.closeAllConnections();
      proxy.close();
      await server.stop();
    },
  };
  return registry;
}

async function builtRegistry(): Promise<string> {
  const folder = join(toolsCacheFolder(process.env), `registry-${VERSION}`);
  await makeOnce(folder, async (unfinished) => {
    const go = findProgram('go', process.env.PATH);
    if (go === undefined) throw new Error('Go not found; install it for this test');
    await runCommand(go, ['install', GO_MODULE], {
      env: { ...process.env, GOBIN: unfinished, CGO_ENABLED: '0' },
      timeoutMs: BUILD_TIMEOUT_MS,
    });
  });
  return folder;
}

async function untilAnswers(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await fetch(url, { signal }).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await delay(POLL_EVERY_MS, undefined, { signal });
  }
}

function forward(
  to: string,
  request: IncomingMessage,
  response: ServerResponse,
  fault: RegistryFault | undefined,
): void {
  if (typeof fault === 'object' && 'status' in fault) {
    response.writeHead(fault.status, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ errors: [{ code: CODES[fault.status] ?? 'UNKNOWN', message: 'of the test' }] }),
    );
    return;
  }
  const { method, headers, url = '/' } = request;
  const asking = httpRequest(new URL(url, to), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    let sent = 0;
    if (typeof fault === 'object') return void sendHeld(answer, response, fault);
    answer.on('data', (bytes: Buffer) => {
      if (fault === 'changed') bytes[0] = (bytes[0] ?? 0) ^ 1;
      const part = fault === 'cut' || fault === 'stalled' ? bytes.subarray(0, BEGINNING_BYTES - sent) : bytes;
      sent += part.length;
      response.write(part);
    });
    answer.on('end', () => {
      if (fault === 'cut') response.destroy();
      else if (fault !== 'stalled') response.end();
    });
  });
  asking.on('error', () => response.destroy());
  request.pipe(asking);
}

async function sendHeld(
  answer: IncomingMessage,
  response: ServerResponse,
  { heldAfterBytes, until }: { heldAfterBytes: number; until: Promise<void> },
): Promise<void> {
  let sent = 0;
  try {
    for await (const bytes of answer as AsyncIterable<Buffer>) {
      const free = bytes.subarray(0, Math.max(0, heldAfterBytes - sent));
      response.write(free);
      if (free.length < bytes.length) await until;
      response.write(bytes.subarray(free.length));
      sent += bytes.length;
    }
    response.end();
  } catch {
    response.destroy(); // the registry was stopped
  }
}

const CODES: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  403: 'DENIED',
  404: 'MANIFEST_UNKNOWN',
  429: 'TOOMANYREQUESTS',
};

/** By the registry's own protocol: the layer, the configuration, and the manifest that names both. */
async function pushImage(to: string, repository: string, image: TestImage): Promise<void> {
  const {
    architecture = process.arch === 'x64' ? 'amd64' : process.arch,
    bytes = 100_000,
    zeros = false,
    sparse = false,
    times = 1,
    emptyFiles = 0,
    settings = {},
  } = image;
  const tar = await layerOf(
    zeros ? Buffer.alloc(bytes) : randomBytes(sparse ? 0 : bytes),
    sparse ? bytes : 0,
    emptyFiles,
  );
  const layer = gzipSync(tar);
  const config = Buffer.from(
    JSON.stringify({
      architecture,
      os: 'linux',
      created: new Date().toISOString(),
      config: settings,
      rootfs: { type: 'layers', diff_ids: Array(times).fill(digestOf(tar)) },
    }),
  );
  const described = (mediaType: string, content: Buffer) => ({
    mediaType,
    size: content.length,
    digest: digestOf(content),
  });
  for (const blob of [layer, config])
    await send('POST', `${to}/v2/${repository}/blobs/uploads/?digest=${digestOf(blob)}`, blob);
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: described(CONFIG, config),
    layers: Array(times).fill(described(LAYER, layer)),
  };
  await send(
    'PUT',
    `${to}/v2/${repository}/manifests/latest`,
    Buffer.from(JSON.stringify(manifest)),
    MANIFEST,
  );
}

async function layerOf(content: Buffer, holeBytes: number, emptyFiles: number): Promise<Buffer> {
  const folder = await temporaryFolder('layer');
  try {
    await writeFile(join(folder, 'content'), content);
    await writeFile(join(folder, 'unlike-any-other'), randomBytes(16));
    for (let i = 0; i < emptyFiles; i += 1) await writeFile(join(folder, `empty-${i}`), '');
    if (holeBytes > 0) await truncate(join(folder, 'content'), holeBytes);
    const format = holeBytes > 0 ? ['--sparse', '--format=posix'] : [];
    await run('tar', [...format, '-cf', `${folder}.tar`, '-C', folder, '.']);
    return await readFile(`${folder}.tar`);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(`${folder}.tar`, { force: true });
  }
}

async function send(method: string, url: string, content: Buffer, type?: string): Promise<void> {
  const headers = { 'content-type': type ?? 'application/octet-stream' };
  const answer = await fetch(url, { method, headers, body: new Uint8Array(content) });
  if (!answer.ok) throw new Error(`the registry answers ${answer.status}: ${await answer.text()}`);
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
