// Parses an image name as Docker does: its registry, and the path in it.
import { isImageReference } from '@switchyard/contracts';

const DEFAULT_ORIGIN = 'https://registry-1.docker.io';
const DEFAULT_NAMES: readonly (string | undefined)[] = [undefined, 'docker.io', 'index.docker.io'];
const OFFICIAL = 'library/';

export interface ImageReference {
  /** As given, without tag and digest. */
  readonly repository: string;
  /** `https://host[:port]` of the registry; plain HTTP on loopback, as in Docker. */
  readonly origin: string;
  /** The repository in its registry. */
  readonly path: string;
  /** The digest if given, otherwise the tag. */
  readonly wanted: string;
}

/** @returns null if it is not a valid image name */
export function parseImageReference(image: string): ImageReference | null {
  if (!isImageReference(image)) return null;
  const [named = image, digest] = image.split('@');
  const repository = named.replace(/:[\w.-]+$/, '');
  const tag = named.slice(repository.length + 1) || 'latest';
  const registry = registryOf(repository);
  const isDefault = DEFAULT_NAMES.includes(registry);
  const path = registry === undefined ? repository : repository.slice(registry.length + 1);
  return {
    repository,
    origin: isDefault ? DEFAULT_ORIGIN : `${isLoopback(registry ?? '') ? 'http' : 'https'}://${registry}`,
    path: isDefault && !path.includes('/') ? `${OFFICIAL}${path}` : path,
    wanted: digest ?? tag,
  };
}

/** `host[:port]` that the name begins with; undefined: the default registry. */
function registryOf(repository: string): string | undefined {
  const first = repository.split('/')[0] ?? '';
  // Matches all engine versions: newer ones treat a first component with a capital letter as a host.
  const isHost = repository.includes('/') && (/[.:A-Z]/.test(first) || first === 'localhost');
  return isHost ? first : undefined;
}

function isLoopback(registry: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+)(:\d+)?$/.test(registry);
}
