// The way of a container to its network, made by the agent in place of the engine.
//
// For each container with a network dockerd starts itself anew three times (to take its name space over, to switch IPv6
// off in it, to answer for name servers): more than half of the processor time that a container's start takes. So a
// container is created without a network, which gives it a name space with nothing but a loop, and a pair of interfaces is
// laid from there to the bridge of the engine's network. The engine's rules for that bridge and ours (firewall.ts) are
// what they were. Both ends go with the name space, when the container ends.
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { cgroupsOf } from './cpu-cgroup.ts';
import { readResolvers } from './firewall.ts';
import { runProgram } from './host-programs.ts';

const INTERFACES = '/sys/class/net';
const INSIDE = 'eth0';
const TIMEOUT_MS = 10_000;
/** The engine gives its own containers the first addresses of a network, one after the other, so ours are of the other half. */
const ENGINE_SHARE = 1 / 2;
/** The last address of a network is everybody's. */
const BROADCAST = 1;

/** Isolated ports of a bridge do not speak to each other, whatever rules the host has. Arguments: name outside, bridge. */
const JOIN = `link set $1 master $2
link set $1 type bridge_slave isolated on
link set $1 up`;
const JOIN_BRIDGE = `exec ip -batch - <<END
${JOIN}
END`;
/** Further arguments: pid, hardware address, MTU, address with the bits of its network, gateway. */
const LAY = `set -e
ip -batch - <<END
link add $1 mtu $5 type veth peer name ${INSIDE} mtu $5 address $4 netns $3
${JOIN}
END
exec nsenter --net=/proc/$3/ns/net ip -batch - <<END
addr add $6 dev ${INSIDE}
link set ${INSIDE} up
route add default via $7
END`;

/** Of a network, as the engine has them. */
export type Addresses = Docker.NetworkInspectInfo['IPAM'];

export interface Wires {
  /** That a computer asks itself: the engine answers only in networks that it made. */
  readonly nameServers: readonly string[];
  /**
   * Gives a running container that was created without a network its place on the bridge.
   * @param pid of its first process, as this host numbers processes
   * @throws when that is not the container's, or the host's programs refuse; what was begun goes with the container
   */
  lay(pid: number, containerId: string): Promise<void>;
}

/**
 * @throws where the bridge is not one of this host (an engine elsewhere), or has no addresses to give, or the host names no
 * servers that computers can ask
 */
export async function openWires(addresses: Addresses, bridge: string): Promise<Wires> {
  const mtu = (await readFile(join(INTERFACES, bridge, 'mtu'), 'utf8')).trim();
  const { range, gateway } = rangeAndGateway(addresses);
  const nameServers = await readResolvers();
  if (nameServers.length === 0) throw new Error('the name servers of this host answer nobody else');

  /** Given, and not yet to be seen among the host's interfaces. */
  const onTheirWay = new Set<number>();
  // In turn: for a while the host remembers connections of whoever had an address.
  let next = Math.floor(Math.random() * range.count);
  const takeAddress = async (): Promise<number> => {
    for (let tried = 0; tried < range.count; tried++) {
      const address = range.first + next;
      next = (next + 1) % range.count;
      if (onTheirWay.has(address)) continue;
      onTheirWay.add(address);
      if (!(await hasInterface(nameOf(address)))) return address;
      onTheirWay.delete(address);
    }
    throw new Error(`all ${range.count} addresses of ${bridge} are taken`);
  };

  return {
    nameServers,
    async lay(pid, containerId) {
      if ((await cgroupsOf(pid, containerId)) === undefined)
        throw new Error('this agent does not see the processes of this host');
      const address = await takeAddress();
      const ends = [nameOf(address), bridge, String(pid), hardwareAddressOf(address), mtu];
      const route = [`${dotted(address)}/${range.prefix}`, gateway];
      try {
        await runProgram('sh', ['-c', LAY, 'sh', ...ends, ...route], { timeout: TIMEOUT_MS });
      } finally {
        onTheirWay.delete(address);
      }
    },
  };
}

/**
 * Makes a new bridge one that stands in the place of the last one of that name, with the same addresses: it gets the hardware
 * address that computers remember of their gateway, for half a minute, and the wires that have lost their bridge.
 */
export async function settleBridge(addresses: Addresses, bridge: string): Promise<void> {
  const { Subnet: subnet = '', Gateway: gateway = '' } = addresses?.Config?.[0] ?? {};
  const range = rangeOf(subnet);
  if (range === undefined) return;
  const at = numberOf(gateway);
  if (at !== undefined) {
    const options = ['link', 'set', 'dev', bridge, 'address', hardwareAddressOf(at)];
    // Where that is refused, they find it after that time.
    await runProgram('ip', options, { timeout: TIMEOUT_MS }).catch(() => {});
  }
  for (const name of await readdir(INTERFACES)) {
    const address = addressOf(name);
    if (address === undefined || address < range.first || address >= range.first + range.count) continue;
    await runProgram('sh', ['-c', JOIN_BRIDGE, 'sh', name, bridge], { timeout: TIMEOUT_MS });
  }
}

/** Whether this host (the name space of this process) has an interface of that name. */
export function hasInterface(name: string): Promise<boolean> {
  return access(join(INTERFACES, name)).then(
    () => true,
    () => false,
  );
}

export interface AddressRange {
  /** As a number. */
  readonly first: number;
  readonly count: number;
  /** Bits of the network that they are in. */
  readonly prefix: number;
}

/** The addresses of an IPv4 network (CIDR) that the engine does not begin with; undefined: there are none. */
export function rangeOf(subnet: string): AddressRange | undefined {
  const [address = '', bits = ''] = subnet.split('/');
  const network = numberOf(address);
  if (network === undefined || !/^\d+$/.test(bits)) return undefined;
  const prefix = Number(bits);
  const size = 2 ** (32 - prefix);
  const ofEngine = Math.floor(size * ENGINE_SHARE);
  const count = size - ofEngine - BROADCAST;
  return count > 0 ? { first: network + ofEngine, count, prefix } : undefined;
}

/** Of an IPv4 address in dots; undefined: it is none. */
function numberOf(address: string): number | undefined {
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(address)) return undefined;
  return address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0);
}

/** `172.18.128.1` of a number. */
export function dotted(address: number): string {
  return bytesOf(address).join('.');
}

function rangeAndGateway(addresses: Addresses): { readonly range: AddressRange; readonly gateway: string } {
  const { Subnet: subnet = '', Gateway: gateway } = addresses?.Config?.[0] ?? {};
  const range = rangeOf(subnet);
  if (range === undefined || gateway === undefined)
    throw new Error(`the engine’s network has no IPv4 addresses to give: '${subnet}'`);
  return { range, gateway };
}

/** Says its address, so that the host's interfaces say which are taken. An interface's name has at most 15 characters. */
function nameOf(address: number): string {
  return `sy-${hexOf(address).join('')}`;
}

function addressOf(name: string): number | undefined {
  const hex = /^sy-([0-9a-f]{8})$/.exec(name)?.[1];
  return hex === undefined ? undefined : Number.parseInt(hex, 16);
}

/** As Docker does it: whoever gets an address later has the hardware address that others remember for it. */
function hardwareAddressOf(address: number): string {
  return ['02', '42', ...hexOf(address)].join(':');
}

function hexOf(address: number): string[] {
  return bytesOf(address).map((byte) => byte.toString(16).padStart(2, '0'));
}

function bytesOf(address: number): number[] {
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256);
}
