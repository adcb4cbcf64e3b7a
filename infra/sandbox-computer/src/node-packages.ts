// Node.js and npm for the image, out of their npm packages: fetched by the host's own npm client with all of its
// configuration, so that any registry or mirror serves; `npm pack` runs no script of theirs.
import { execFile } from 'node:child_process';
import { chmod, mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PACK_TIMEOUT_MS = 300_000;
const UNPACK_TIMEOUT_MS = 60_000;
/** Of the standard computer: Node 22, and the npm that comes with it, which serves newer ones as well. */
const NODE_VERSION = '22.23.3';
const NPM_VERSION = '10.9.9';

export type Architecture = 'x64' | 'arm64';

/** npm packages with their versions. */
export interface NodePackages {
  readonly node: string;
  readonly npm: string;
}

/** What an image's Node.js is made of, by default that of the standard computer: part of the image's hash. */
export function nodePackages(architecture: Architecture, nodeVersion = NODE_VERSION): NodePackages {
  return { node: `node-linux-${architecture}@${nodeVersion}`, npm: `npm@${NPM_VERSION}` };
}

/** Installs both under `<root>/usr/local`. */
export async function addNode(root: string, { node, npm }: NodePackages, signal: AbortSignal): Promise<void> {
  const prefix = join(root, 'usr/local');
  const npmDirectory = join(prefix, 'lib/node_modules/npm');
  await Promise.all([
    unpackPackage(node, prefix, ['package/bin', 'package/include'], signal),
    unpackPackage(npm, npmDirectory, ['package'], signal),
  ]);
  for (const name of ['npm', 'npx']) {
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(prefix, 'bin', name));
    await chmod(join(npmDirectory, 'bin', `${name}-cli.js`), 0o755);
  }
}

async function unpackPackage(
  spec: string,
  directory: string,
  members: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const download = `${directory}.download-${spec.replaceAll('@', '-')}`;
  await mkdir(directory, { recursive: true });
  await mkdir(download);
  try {
    const packed = await run('npm', ['pack', '--json', '--pack-destination', download, spec], {
      cwd: download, // so that no project's .npmrc has a say
      timeout: PACK_TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
      signal,
    });
    const archive = join(download, archiveName(packed.stdout));
    const options = ['--no-same-owner', '--strip-components=1', '-C', directory];
    await run('tar', ['-xzf', archive, ...options, ...members], { timeout: UNPACK_TIMEOUT_MS, signal });
  } catch (error) {
    throw new Error(`${spec} could not be fetched with npm`, { cause: error });
  } finally {
    await rm(download, { recursive: true, force: true });
  }
}

/** `npm pack --json` tells an array, and since npm 12 an object with one entry for each package. */
function archiveName(json: string): string {
  const told = JSON.parse(json) as { filename?: string }[] | Record<string, { filename?: string }>;
  const name = Object.values(told)[0]?.filename;
  if (!name) throw new Error('npm pack did not tell its file');
  return name;
}
