// The IP addresses of the public internet. The ranges are ipaddr.js's, after IANA's special-purpose registries:
// private, loopback, link-local (cloud metadata), shared (CGNAT), multicast, broadcast, reserved and, for IPv6,
// everything that carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo).
import ipaddr from 'ipaddr.js';

/** All of IPv6 that is assigned so far. `::127.0.0.1`, outside it, has no range of its own in IANA's registries. */
const IPV6_GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3');
/** Public by range, yet a machine of the cloud that hosts us: Azure's metadata and DHCP (WireServer). */
const NOT_PUBLIC = new Set(['168.63.129.16']);

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Unwraps an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`). */
export function parseAddress(text: string): Address {
  return ipaddr.process(text);
}

/** @throws Error if the text is not an IP address. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address instanceof ipaddr.IPv6 && !address.match(IPV6_GLOBAL)) return false;
  return address.range() === 'unicast' && !NOT_PUBLIC.has(address.toString());
}
