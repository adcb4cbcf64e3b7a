// Node.js and npm for the image, from their npm packages. The host's npm client fetches them with its own configuration,
// so any registry or mirror works. `npm pack` runs no install script.
import { execFile } from 'node:child_process';
import { chmod, mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PACK_TIMEOUT_MS = 300_000;
const UNPACK_TIMEOUT_MS = 60_000;
/** Node 22 and its npm, for the standard computer. This npm also works with newer versions of Node.js. */
const NODE_VERSION = '22.23.3';
const NPM_VERSION = '10.9.9';

export type Architecture = 'x64' | 'arm64';

/** npm packages with their versions. */
interface NodePackages {
  readonly node: string;
  readonly npm: string;
}

/** The npm packages of an image's Node.js. They are part of the image's hash. Default: the standard computer's. */
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
      cwd: download, // no project's .npmrc applies here
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

/** `npm pack --json` prints an array; since npm 12 an object with one entry per package. */
function archiveName(json: string): string {
  const packed = JSON.parse(json) as { filename?: string }[] | Record<string, { filename?: string }>;
  const name = Object.values(packed)[0]?.filename;
  if (!name) throw new Error('npm pack printed no file name');
  return name;
}
