// Resolves a target to the addresses that may be connected to.
import type { AllowList } from './allow-list.ts';
import { fetchFailed } from './failures.ts';
import type { Lookup } from './lookup.ts';
import { parseAddress } from './public-address.ts';
import { mayConnect, refusal, type Target } from './target.ts';

export interface ResolveDeps {
  readonly allow: AllowList;
  /** Public addresses that must not be connected to. */
  readonly refused: ReadonlySet<string>;
  readonly lookup: Lookup;
}

/** Addresses of one name that are tried. */
const ADDRESSES_MAX = 4;

/**
 * The addresses of a target that may be connected to, at least one.
 * @throws ServiceError `url_not_allowed`, or `url_fetch_failed` where the name resolves to nothing.
 */
export async function resolve(
  { allow, refused, lookup }: ResolveDeps,
  target: Target,
  param: string,
): Promise<readonly string[]> {
  const found = target.literal === null ? await resolveName(lookup, target.host, param) : [target.literal];
  const allowed = found.filter((address) => mayConnect({ allow, refused }, target, address));
  if (allowed.length === 0) throw refusal(target, param);
  return allowed.slice(0, ADDRESSES_MAX).map((address) => parseAddress(address).toString());
}

async function resolveName(lookup: Lookup, host: string, param: string): Promise<readonly string[]> {
  try {
    const addresses = await lookup(host);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw fetchFailed(param, 'dns', 'the host name could not be resolved. Check the URL.', cause);
  }
  throw fetchFailed(param, 'dns', 'the host name has no address. Check the URL.');
}
