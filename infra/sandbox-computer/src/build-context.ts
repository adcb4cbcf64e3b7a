// Lays out the directory that the Docker engine builds from: the Dockerfile, `system/` and `rootfs/`.
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type AptSetup, renderSources } from './apt-setup.ts';
import { chromiumPolicy } from './extra-certificates.ts';
import { addNode, nodePackages } from './node-packages.ts';
import { type Recipe, SOURCE_DIRECTORY } from './recipe.ts';

const HOST_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';

export async function writeBuildContext(
  recipe: Recipe,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(directory);
  await writeFile(join(directory, 'Dockerfile'), recipe.dockerfile);
  await cp(join(SOURCE_DIRECTORY, 'rootfs'), join(directory, 'rootfs'), { recursive: true });
  await Promise.all([
    writeSystem(recipe, join(directory, 'system')),
    writeChromiumPolicy(recipe.certificates, join(directory, 'system')),
    addNode(join(directory, 'rootfs'), nodePackages(recipe.architecture), signal),
  ]);
}

/** Configuration with which an image reaches Debian's packages in the same way as this host. */
export interface HostSetup {
  readonly apt: AptSetup;
  /** Authorities that this host trusts beyond the public ones, PEM. */
  readonly certificates: readonly string[];
}

/** The files of a HostSetup, to be copied over the root of a Debian system. */
export async function writeSystem({ apt, certificates }: HostSetup, root: string): Promise<void> {
  const write = (path: string, text: string) => writeIn(root, path, text);
  const sources = renderSources(apt);
  if (sources !== '') {
    await write('etc/apt/sources.list', '');
    await write('etc/apt/sources.list.d/debian.sources', sources);
  }
  await write('etc/apt/apt.conf.d/90-host', apt.options.map((line) => `${line}\n`).join(''));
  for (const [index, pem] of certificates.entries()) {
    await write(`usr/local/share/ca-certificates/host-${index + 1}.crt`, `${pem}\n`);
  }
  // A base system has no authorities yet, and an https mirror needs them before they can be installed from it.
  if ([apt.mirror, apt.securityMirror].some((uri) => uri?.startsWith('https:'))) {
    await write('etc/ssl/certs/ca-certificates.crt', await readFile(HOST_BUNDLE, 'utf8'));
  }
}

async function writeChromiumPolicy(certificates: readonly string[], root: string): Promise<void> {
  if (certificates.length === 0) return;
  await writeIn(root, 'etc/chromium/policies/managed/host-certificates.json', chromiumPolicy(certificates));
}

async function writeIn(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
