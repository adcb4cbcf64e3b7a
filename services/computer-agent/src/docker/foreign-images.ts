// Images that a caller names: pulled from a public registry, never from a private address behind the host.
//
// Only what was pulled for a computer may be used by name: other images of this host (its own services, say) are not
// for renters. So each pull is remembered on disk, and a computer that starts again takes the image that is there.
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type Docker from 'dockerode';

const PULL_TIMEOUT_MS = 300_000;
/** [registry host[:port]/]path[:tag][@digest], as strict as Docker itself. */
const REFERENCE_PATTERN =
  /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w][\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/;

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv6');
}

export type Resolve = (host: string) => Promise<{ address: string; family: number }[]>;

const resolveAll: Resolve = (host) => lookup(host, { all: true });

export interface ForeignImageOptions {
  readonly docker: Docker;
  readonly image: string;
  /** Directory in which pulls are remembered. */
  readonly memory: string;
  readonly resolve?: Resolve;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes the image present on this host.
 * Throws ServiceError `image_unavailable` saying why it cannot be had.
 */
export async function ensureForeignImage(options: ForeignImageOptions): Promise<void> {
  const { docker, image, memory, resolve = resolveAll, signal } = options;
  if (!REFERENCE_PATTERN.test(image)) throw unavailable(image, 'it is not an image reference');
  const note = join(memory, createHash('sha256').update(image).digest('hex'));
  if ((await exists(note)) && (await isPresent(docker, image))) return;

  await refusePrivateRegistry(image, resolve);
  const limit = AbortSignal.timeout(PULL_TIMEOUT_MS);
  try {
    await pull(docker, withTag(image), signal ? AbortSignal.any([signal, limit]) : limit);
  } catch (error) {
    signal?.throwIfAborted();
    const reason = limit.aborted ? 'pulling it took too long' : messageOf(error);
    throw unavailable(image, reason, error);
  }
  await mkdir(memory, { recursive: true, mode: 0o700 });
  await writeFile(note, image);
}

/** The host that the image's name tells Docker to ask; undefined: the engine's own default, which is public. */
export function registryOf(image: string): string | undefined {
  const first = image.split('/')[0] ?? '';
  const isHost = image.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  return isHost ? first.replace(/:\d+$/, '') : undefined;
}

async function refusePrivateRegistry(image: string, resolve: Resolve): Promise<void> {
  const host = registryOf(image);
  if (host === undefined) return;
  let addresses: { address: string; family: number }[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    throw unavailable(image, `its registry ${host} cannot be found`, error);
  }
  const refused = addresses.some(({ address, family }) =>
    PRIVATE.check(address, family === 6 ? 'ipv6' : 'ipv4'),
  );
  if (refused) throw unavailable(image, `its registry ${host} is not a public one`);
}

/** Without a tag Docker's API would pull every tag there is. */
function withTag(image: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1);
  return /[:@]/.test(name) ? image : `${image}:latest`;
}

async function pull(docker: Docker, image: string, signal: AbortSignal): Promise<void> {
  const stream = await docker.pull(image, { abortSignal: signal });
  const done = Promise.withResolvers<void>();
  docker.modem.followProgress(stream, (error) => (error ? done.reject(error) : done.resolve()));
  await done.promise;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function isPresent(docker: Docker, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}

function messageOf(error: unknown): string {
  const json = (error as { json?: { message?: string } }).json?.message;
  return json ?? (error instanceof Error ? error.message : String(error));
}

function unavailable(image: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('image_unavailable', `the image ${image} cannot be pulled: ${reason}`, {
    param: 'image',
    cause,
  });
}
