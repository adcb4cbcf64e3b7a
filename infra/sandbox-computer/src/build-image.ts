// Builds an image from a directory with a Dockerfile, as `docker build` does, and reports the builder's output.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type Docker from 'dockerode';

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
const ERROR_LINES_KEPT = 12;

interface BuildImageOptions {
  readonly docker: Docker;
  readonly contextDirectory: string;
  /** Name and tag of the result. */
  readonly tag: string;
  readonly buildArguments: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

/** @throws Error with the builder's last lines */
export async function buildImage(options: BuildImageOptions): Promise<void> {
  const { docker, contextDirectory, tag, buildArguments, labels, signal, onLine } = options;
  const tar = spawn('tar', ['-C', contextDirectory, '--owner=0', '--group=0', '--numeric-owner', '-c', '.'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const failed = once(tar, 'error').then(([error]) => Promise.reject(error as Error));
  const answer = await Promise.race([
    docker.buildImage(tar.stdout, {
      t: tag,
      buildargs: { ...buildArguments },
      labels: { ...labels },
      // The build uses the host's resolvers and a proxy on its loopback.
      networkmode: 'host',
      forcerm: true,
      abortSignal: signal,
    }),
    failed,
  ]);
  const lastLines: string[] = [];
  for await (const text of createInterface({ input: answer })) {
    const { stream, error } = JSON.parse(text) as { stream?: string; error?: string };
    for (const line of (stream ?? '').split('\n').filter((part) => part.trim() !== '')) {
      onLine(line);
      lastLines.push(line);
      if (lastLines.length > ERROR_LINES_KEPT) lastLines.shift();
    }
    if (error) throw new Error(`${tag} could not be built: ${error}\n${lastLines.join('\n')}`);
  }
}

/** Docker knows these build arguments by itself and keeps them out of the image and its history. */
export function proxyArguments(aptProxy: string | undefined, env: NodeJS.ProcessEnv): Record<string, string> {
  const found = Object.fromEntries(PROXY_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  if (aptProxy && !found.http_proxy && !found.HTTP_PROXY) found.http_proxy = aptProxy;
  return found;
}
