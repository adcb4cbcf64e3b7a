// What computers may reach: the internet and name servers. Blocked: the host, other computers, private networks,
// link-local addresses (cloud credentials), mail servers (spam damages the host's reputation), and IPv6. The number
// of connections is limited, because all computers share the host's connection table.
//
// Docker's own rules allow the host and everything behind it, so our chains are in the mangle table, which comes
// before the filter table and is not touched by Docker. The chain DOCKER-USER is meant for this, but Docker removes
// the jump to it for a moment whenever any network is created. Rules of other programs are not changed.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);
const IPTABLES_TIMEOUT_MS = 15_000;
/** Seconds to wait for another program that changes the rules. */
const LOCK_WAIT_S = '10';

/** Tracked connections per computer; new ones above it are dropped. */
const CONNECTIONS_MAX = 4_096;
/** New connections per computer: a closed one stays in the table for two minutes. */
const CONNECTIONS_PER_S_MAX = 200;
const CONNECTIONS_BURST = 2_000;

const REFUSED_NETWORKS = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Azure's and Oracle's machine services, at public-looking addresses.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const DNS_PORT = '53';
const SMTP_PORT = '25';
/**
 * Burst as a multiple of the rate, on top of one second that the kernel always grants. iptables accepts no burst
 * below its rounded rate.
 */
const BURST_S = 1.1;
const BYTES_PER_MBIT = 125_000;
/** systemd-resolved lists the true servers in the second file, which Docker then uses. */
const RESOLVER_FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

const IPV4 = 'iptables';
const IPV6 = 'ip6tables';
type Family = typeof IPV4 | typeof IPV6;
const TABLE = 'mangle';

export interface FirewallOptions {
  /** Interface of the computers' bridge; at most 15 characters. */
  readonly bridge: string;
  /** Networks behind the host that computers may reach (CIDR), for example a package mirror. */
  readonly allowedNetworks: readonly string[];
  /** Mbit/s of one computer, in each direction; undefined: no ceiling. */
  readonly mbitMax: number | undefined;
  /** Files that list the name servers of this host. */
  readonly resolverFiles?: readonly string[] | undefined;
}

interface FirewallChains {
  readonly forward: string;
  readonly input: string;
  /** Packets to computers. */
  readonly download: string;
}

export function chainsOf(bridge: string): FirewallChains {
  return { forward: `${bridge}-FWD`, input: `${bridge}-IN`, download: `${bridge}-DOWN` };
}

/**
 * Installs or restores the rules. Safe to repeat.
 * @returns why the number of connections is not limited; undefined: it is
 * @throws when iptables is missing or fails: computers are then not isolated, and the caller must decide
 */
export async function installFirewall({
  bridge,
  allowedNetworks,
  mbitMax,
  resolverFiles,
}: FirewallOptions): Promise<{ readonly unlimitedReason: string | undefined }> {
  const chains = chainsOf(bridge);
  const resolvers = await readResolvers(resolverFiles);
  const dns = resolvers.flatMap((address) =>
    ['udp', 'tcp'].map((protocol) => ['-d', address, '-p', protocol, '--dport', DNS_PORT, '-j', 'RETURN']),
  );
  const forward = (limits: string[][]) => [
    ...overCeiling(bridge, 'srcip', mbitMax),
    ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'RETURN'],
    ...limits.map((match) => [...match, '-j', 'DROP']),
    ...dns,
    ['-p', 'tcp', '--dport', SMTP_PORT, '-j', 'DROP'],
    ...allowedNetworks.map((network) => ['-d', network, '-j', 'RETURN']),
    ...REFUSED_NETWORKS.map((network) => ['-d', network, '-j', 'DROP']),
  ];
  const input = [
    ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'RETURN'],
    ...dns,
    ['-j', 'DROP'],
  ];
  const installIpv4 = async () => {
    const fill = (limits: string[][]) =>
      fillChains(IPV4, {
        [chains.forward]: forward(limits),
        [chains.input]: input,
        [chains.download]: overCeiling(bridge, 'dstip', mbitMax),
      });
    // Some kernels lack the two matches for limits; the firewall is useful without them.
    const unlimited = await fill(tooManyConnections(bridge)).catch((error: Error) => error);
    if (unlimited) await fill([]);
    await insertHooks(IPV4, bridge);
    return unlimited?.message.trim();
  };
  const installIpv6 = async () => {
    const nothing = [['-j', 'DROP']];
    if (!hostHasIpv6()) return;
    await fillChains(IPV6, { [chains.forward]: nothing, [chains.input]: nothing });
    await insertHooks(IPV6, bridge);
  };
  const [unlimitedReason] = await Promise.all([installIpv4(), installIpv6()]);
  return { unlimitedReason };
}

/**
 * Whether the rules of `installFirewall` are still in place, with the current name servers of this host. Another program
 * may have cleared them.
 */
export async function isFirewallInstalled({
  bridge,
  mbitMax,
  resolverFiles,
}: Pick<FirewallOptions, 'bridge' | 'mbitMax' | 'resolverFiles'>): Promise<boolean> {
  const chains = chainsOf(bridge);
  const resolvers = await readResolvers(resolverFiles);
  const isComplete = async (family: Family) => {
    const rules = await rulesOf(family);
    if (family === IPV4 && !isSame(resolversIn(rules, chains.input), resolvers)) return false;
    const dropsIn = (chain: string) =>
      rules.some((rule) => rule.startsWith(`-A ${chain} `) && rule.endsWith('-j DROP'));
    return hooksOf(chains, family).every(
      (hook) =>
        rules.includes(ruleOf(hook, bridge)) &&
        (dropsIn(hook.chain) || (hook.chain === chains.download && mbitMax === undefined)),
    );
  };
  return (await isComplete(IPV4)) && (!hostHasIpv6() || (await isComplete(IPV6)));
}

function tooManyConnections(bridge: string): string[][] {
  const fresh = ['-m', 'conntrack', '--ctstate', 'NEW'];
  return [
    [...fresh, '-m', 'connlimit', '--connlimit-above', String(CONNECTIONS_MAX), '--connlimit-mask', '32'],
    [
      ...[...fresh, '-m', 'hashlimit', '--hashlimit-name', bridge, '--hashlimit-mode', 'srcip'],
      ...[
        '--hashlimit-above',
        `${CONNECTIONS_PER_S_MAX}/sec`,
        '--hashlimit-burst',
        String(CONNECTIONS_BURST),
      ],
    ],
  ];
}

/**
 * Drops packets above the ceiling, which slows TCP down. The rate is part of the table's name, because the kernel
 * keeps the rate of an existing table.
 */
function overCeiling(bridge: string, mode: 'srcip' | 'dstip', mbitMax: number | undefined): string[][] {
  if (mbitMax === undefined) return [];
  const bytesPerS = Math.round(mbitMax * BYTES_PER_MBIT);
  return [
    [
      ...['-m', 'hashlimit', '--hashlimit-name', `${bridge}-${mode}-${bytesPerS}`, '--hashlimit-mode', mode],
      ...[
        '--hashlimit-above',
        `${bytesPerS}b/s`,
        '--hashlimit-burst',
        `${Math.ceil(BURST_S * bytesPerS)}b`,
        '-j',
        'DROP',
      ],
    ],
  ];
}

/** Removes everything that `installFirewall` installed. */
export async function removeFirewall(bridge: string): Promise<void> {
  const chains = chainsOf(bridge);
  for (const family of [IPV4, IPV6] as const)
    for (const { parent, direction, chain } of hooksOf(chains, family)) {
      // Each rule may be missing already.
      await iptables(family, '-D', parent, direction, bridge, '-j', chain).catch(() => {});
      await iptables(family, '-F', chain).catch(() => {});
      await iptables(family, '-X', chain).catch(() => {});
    }
}

/** IPv4 name servers listed in a resolv.conf. Those on loopback are queried by Docker itself. */
export function parseResolvers(resolvConf: string): string[] {
  return [...resolvConf.matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map((match) => match[1] ?? '')
    .filter((address) => isIPv4(address) && !address.startsWith('127.'));
}

interface Hook {
  readonly parent: string;
  /** `-i`: traffic from computers; `-o`: traffic to them. */
  readonly direction: '-i' | '-o';
  readonly chain: string;
}

/** Parent chain of each of our chains. Computers have no IPv6, so there is nothing to limit on the way to them. */
function hooksOf(chains: FirewallChains, family: Family): Hook[] {
  const hooks: Hook[] = [
    { parent: 'INPUT', direction: '-i', chain: chains.input },
    { parent: 'FORWARD', direction: '-i', chain: chains.forward },
  ];
  if (family === IPV4) hooks.push({ parent: 'FORWARD', direction: '-o', chain: chains.download });
  return hooks;
}

function hostHasIpv6(): boolean {
  return existsSync('/proc/net/if_inet6');
}

/** IPv4 name servers of this host that computers may query directly. */
async function readResolvers(files: readonly string[] = RESOLVER_FILES): Promise<string[]> {
  const texts = await Promise.all(files.map((path) => readFile(path, 'utf8').catch(() => '')));
  return [...new Set(texts.flatMap(parseResolvers))];
}

/** Name servers that a chain of INPUT allows, from rules in the format of `iptables -S`. */
function resolversIn(rules: readonly string[], chain: string): string[] {
  return rules.flatMap((rule) => {
    const [, of, address] = /^-A (\S+) -d ([\d.]+)\/32 -p udp /.exec(rule) ?? [];
    return of === chain && address !== undefined ? [address] : [];
  });
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return new Set(some).symmetricDifference(new Set(others)).size === 0;
}

/** Replaces the rules of each chain in one atomic step, so the rules are never absent. */
async function fillChains(family: Family, chains: Readonly<Record<string, string[][]>>): Promise<void> {
  const lines = [`*${TABLE}`];
  for (const [chain, rules] of Object.entries(chains))
    lines.push(`:${chain} - [0:0]`, `-F ${chain}`, ...rules.map((rule) => `-A ${chain} ${rule.join(' ')}`));
  lines.push('COMMIT', '');
  const restoring = run(`${family}-restore`, ['--noflush', '-w', LOCK_WAIT_S], {
    timeout: IPTABLES_TIMEOUT_MS,
  });
  restoring.child.stdin?.on('error', () => {}); // the process ended before reading; its exit status says why
  restoring.child.stdin?.end(lines.join('\n'));
  await restoring;
}

/** Inserts our chains at the front of their parents, where missing. */
async function insertHooks(family: Family, bridge: string): Promise<void> {
  const present = await rulesOf(family);
  for (const hook of hooksOf(chainsOf(bridge), family)) {
    const { parent, direction, chain } = hook;
    if (!present.includes(ruleOf(hook, bridge)))
      await iptables(family, '-I', parent, '1', direction, bridge, '-j', chain);
  }
}

/** Every rule of the table, as `iptables -S` writes it. */
async function rulesOf(family: Family): Promise<string[]> {
  return (await iptables(family, '-S')).split('\n');
}

/** The rule that jumps to one of our chains, in the format of `iptables -S`. */
function ruleOf({ parent, direction, chain }: Hook, bridge: string): string {
  return `-A ${parent} ${direction} ${bridge} -j ${chain}`;
}

async function iptables(family: Family, ...command: string[]): Promise<string> {
  const { stdout } = await run(family, ['-w', LOCK_WAIT_S, '-t', TABLE, ...command], {
    timeout: IPTABLES_TIMEOUT_MS,
  });
  return stdout;
}
