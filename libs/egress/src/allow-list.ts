// Addresses that callers may reach besides the public internet: `SWITCHYARD_EGRESS_ALLOW`.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, parseAddress } from './public-address.ts';

export interface AllowList {
  /** Every port of every address in these networks. */
  readonly networks: readonly [Address, number][];
  /** `host:port` as a URL spells them, whatever the host resolves to. */
  readonly endpoints: ReadonlySet<string>;
}

export const EMPTY_ALLOW_LIST: AllowList = { networks: [], endpoints: new Set() };

/**
 * Reads networks (`10.1.0.0/16`, `fd00::/8`, a lone address) and endpoints (`media.internal:9000`, `[::1]:80`),
 * separated by commas.
 * @throws RangeError naming the entry that is neither.
 */
export function parseAllowList(text: string): AllowList {
  const networks: [Address, number][] = [];
  const endpoints = new Set<string>();
  for (const entry of text.split(',').map((one) => one.trim())) {
    if (entry === '') continue;
    const network = parseNetwork(entry);
    if (network) networks.push(network);
    else endpoints.add(parseEndpoint(entry));
  }
  return { networks, endpoints };
}

export function allowsAddress({ networks }: AllowList, address: string): boolean {
  const parsed = parseAddress(address);
  return networks.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base, bits));
}

export function allowsEndpoint({ endpoints }: AllowList, host: string, port: number): boolean {
  return endpoints.has(`${host}:${port}`);
}

function parseNetwork(entry: string): [Address, number] | null {
  if (ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry);
  if (isIP(entry) === 0) return null;
  const address = parseAddress(entry);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function parseEndpoint(entry: string): string {
  const port = /:(\d{1,5})$/.exec(entry)?.[1];
  const host = port === undefined ? undefined : entry.slice(0, -port.length - 1);
  if (host !== undefined && URL.canParse(`http://${host}/`)) {
    const { hostname, host: whole, pathname, username } = new URL(`http://${host}/`);
    if (whole === hostname && pathname === '/' && username === '') return `${hostname}:${Number(port)}`;
  }
  throw new RangeError(`${entry} is neither a network (10.1.0.0/16) nor host:port (media.internal:9000)`);
}
