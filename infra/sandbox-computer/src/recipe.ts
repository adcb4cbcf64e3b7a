// Everything that determines the content of the image. Its hash is the image's label; a new hash means a new build.
import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Docker from 'dockerode';
import { readAptSetup, renderSources } from './apt-setup.ts';
import type { HostSetup } from './build-context.ts';
import { findExtraCertificates } from './extra-certificates.ts';
import { type Architecture, nodePackages } from './node-packages.ts';

export const SOURCE_DIRECTORY = fileURLToPath(new URL('..', import.meta.url));

export interface Recipe extends HostSetup {
  readonly hash: string;
  readonly dockerfile: string;
  readonly architecture: Architecture;
}

/** @throws Error if there is no Node.js package for the engine's architecture */
export async function readRecipe(docker: Docker, env: NodeJS.ProcessEnv): Promise<Recipe> {
  const [{ Arch }, apt, certificates, dockerfile, files] = await Promise.all([
    docker.version(),
    readAptSetup(),
    findExtraCertificates(env),
    readFile(join(SOURCE_DIRECTORY, 'Dockerfile'), 'utf8'),
    readRootfs(),
  ]);
  const architecture = architectureOf(Arch);
  const packages = nodePackages(architecture);
  const parts = [dockerfile, files, packages, renderSources(apt), apt.options, certificates];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return { hash, dockerfile, architecture, apt, certificates };
}

/** @throws Error if there is no Node.js package for it */
export function architectureOf(engineArchitecture: string): Architecture {
  if (engineArchitecture === 'amd64') return 'x64';
  if (engineArchitecture === 'arm64') return 'arm64';
  throw new Error(`images support amd64 and arm64, not ${engineArchitecture}`);
}

async function readRootfs(): Promise<[path: string, text: string][]> {
  const files: [string, string][] = [];
  for await (const entry of glob('rootfs/**/*', { cwd: SOURCE_DIRECTORY, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.push([path.slice(SOURCE_DIRECTORY.length), await readFile(path, 'utf8')]);
  }
  return files.sort(([a], [b]) => (a < b ? -1 : 1));
}
