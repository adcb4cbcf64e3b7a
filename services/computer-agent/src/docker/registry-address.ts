// Where an image's name leads: to a registry that anybody can reach, or to one behind the host, which renters cannot.
import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isPublicAddress } from '@switchyard/egress';

export type Resolve = (host: string) => Promise<{ address: string; family: number }[]>;

export const resolveAll: Resolve = (host) => lookup(host, { all: true });

/** The host that the image's name tells Docker to ask; undefined: the engine's own default, which is public. */
export function registryOf(image: string): string | undefined {
  const first = image.split('/')[0] ?? '';
  // By the rules of all engines that there are: newer ones take a first name with a capital letter for a host.
  const isHost = image.includes('/') && (/[.:A-Z]/.test(first) || first === 'localhost');
  return isHost ? first.replace(/:\d+$/, '') : undefined;
}

export interface RegistryCheck {
  readonly resolve: Resolve;
  /** Private networks (CIDR) that computers may reach all the same: a registry there tells them nothing new. */
  readonly allowedNetworks: readonly string[];
}

/** Why the registry of this image is not asked, or null where it may be. */
export async function refusalOf(
  image: string,
  { resolve, allowedNetworks }: RegistryCheck,
): Promise<{ why: string; cause?: unknown } | null> {
  const host = registryOf(image);
  if (host === undefined) return null;
  let addresses: { address: string; family: number }[];
  try {
    addresses = await resolve(host);
  } catch (cause) {
    return { why: `its registry ${host} cannot be found`, cause };
  }
  const allowed = blockList(allowedNetworks);
  const own = hostAddresses();
  const refused = addresses.some(({ address, family }) => {
    const type = family === 6 ? 'ipv6' : 'ipv4';
    return (!isPublicAddress(address) || own.has(address)) && !allowed.check(address, type);
  });
  return refused ? { why: `its registry ${host} is not a public one` } : null;
}

/** This host's, public ones included: what listens on it is not for renters. */
function hostAddresses(): Set<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map((one) => one.address)),
  );
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const type = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(prefix ?? (type === 'ipv6' ? 128 : 32)), type);
  }
  return list;
}
