// What computers may reach: the internet, and name servers. Not the host, not other computers, not private networks,
// not link-local addresses (clouds serve credentials there), and nothing by IPv6; and so many connections at a time, as the
// host's table of connections is everybody's.
//
// Docker's own rules allow the host and everything behind it, so two chains of ours hang in front: one in DOCKER-USER
// for what is forwarded, one in INPUT for what is meant for the host. No rule of anyone else is touched.
import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);
const IPTABLES_TIMEOUT_MS = 15_000;
/** Seconds to wait for another program that changes the rules. */
const LOCK_WAIT_S = '10';

/** Connections of one computer that the host keeps track of at a time; over it, no further one goes out. */
const CONNECTIONS_MAX = 4_096;
/** New ones of one computer: a closed one is remembered for two minutes. */
const CONNECTIONS_PER_S_MAX = 200;
const CONNECTIONS_BURST = 2_000;

const REFUSED_NETWORKS = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Azure's and Oracle's own services to their machines, at addresses that look public.
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
/** systemd-resolved lists the true servers in the second file, which Docker then uses. */
const RESOLVER_FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

const IPV4 = 'iptables';
const IPV6 = 'ip6tables';
type Family = typeof IPV4 | typeof IPV6;

export interface FirewallOptions {
  /** Interface of the computers' bridge; at most 15 characters. */
  readonly bridge: string;
  /** Networks behind the host that computers may reach all the same (CIDR): a package mirror, perhaps. */
  readonly allowedNetworks: readonly string[];
}

export interface FirewallChains {
  readonly forward: string;
  readonly input: string;
}

export function chainsOf(bridge: string): FirewallChains {
  return { forward: `${bridge}-FWD`, input: `${bridge}-IN` };
}

/**
 * Puts the rules in place, or in order if they are there. Safe to repeat.
 * Throws when iptables is missing or refuses: then computers are not isolated, and the caller must decide.
 */
export async function raiseFirewall({
  bridge,
  allowedNetworks,
}: FirewallOptions): Promise<{ readonly connectionsLimited: boolean }> {
  const chains = chainsOf(bridge);
  const resolvers = await readResolvers();
  const forward = (limits: string[][]) => [
    ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'RETURN'],
    ...limits.map((match) => [...match, '-j', 'DROP']),
    ...resolvers.flatMap((address) =>
      ['udp', 'tcp'].map((protocol) => ['-d', address, '-p', protocol, '--dport', DNS_PORT, '-j', 'RETURN']),
    ),
    ...allowedNetworks.map((network) => ['-d', network, '-j', 'RETURN']),
    ...REFUSED_NETWORKS.map((network) => ['-d', network, '-j', 'DROP']),
  ];
  const input = [
    ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'ACCEPT'],
    ...resolvers.flatMap((address) =>
      ['udp', 'tcp'].map((protocol) => ['-d', address, '-p', protocol, '--dport', DNS_PORT, '-j', 'ACCEPT']),
    ),
    ['-j', 'DROP'],
  ];
  const raiseIpv4 = async () => {
    const fill = (limits: string[][]) =>
      fillChains(IPV4, { [chains.forward]: forward(limits), [chains.input]: input });
    // A kernel may lack the two matches of the limits: walls without them are walls all the same.
    const isLimited = await fill(tooManyConnections(bridge)).then(
      () => true,
      () => false,
    );
    if (!isLimited) await fill([]);
    await hang(IPV4, bridge);
    return isLimited;
  };
  const raiseIpv6 = async () => {
    const nothing = [['-j', 'DROP']];
    if (!(await hostHasIpv6())) return;
    await fillChains(IPV6, { [chains.forward]: nothing, [chains.input]: nothing });
    await hang(IPV6, bridge);
  };
  const [connectionsLimited] = await Promise.all([raiseIpv4(), raiseIpv6()]);
  return { connectionsLimited };
}

/** Whether what `raiseFirewall` did is still there: another program that sets rules may have cleared them all. */
export async function firewallStands(bridge: string): Promise<boolean> {
  const chains = chainsOf(bridge);
  const stands = async (family: Family) => {
    const rules = await rulesOf(family);
    return hangingIn(chains, family).every(
      ([parent, chain]) =>
        rules.includes(hookOf(parent, bridge, chain)) &&
        rules.some((rule) => rule.startsWith(`-A ${chain} `) && rule.endsWith('-j DROP')),
    );
  };
  return (await stands(IPV4)) && (!(await hostHasIpv6()) || (await stands(IPV6)));
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

/** Takes away all that `raiseFirewall` put there. */
export async function lowerFirewall(bridge: string): Promise<void> {
  const chains = chainsOf(bridge);
  for (const family of [IPV4, IPV6] as const)
    for (const [parent, chain] of hangingIn(chains, family)) {
      // Each may be missing: what counts is that none is left.
      await iptables(family, '-D', parent, '-i', bridge, '-j', chain).catch(() => {});
      await iptables(family, '-F', chain).catch(() => {});
      await iptables(family, '-X', chain).catch(() => {});
    }
}

/** IPv4 name servers that a resolv.conf names; those on loopback are asked by Docker itself. */
export function parseResolvers(resolvConf: string): string[] {
  return [...resolvConf.matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map((match) => match[1] ?? '')
    .filter((address) => isIPv4(address) && !address.startsWith('127.'));
}

/** In whose chain each of ours hangs. Docker has one for its users in IPv6 only where it was told to care for that. */
function hangingIn(chains: FirewallChains, family: Family): [parent: string, chain: string][] {
  return [
    [family === IPV4 ? 'DOCKER-USER' : 'FORWARD', chains.forward],
    ['INPUT', chains.input],
  ];
}

function hostHasIpv6(): Promise<boolean> {
  return access('/proc/net/if_inet6').then(
    () => true,
    () => false,
  );
}

/** IPv4 name servers of this host that computers may ask themselves. */
export async function readResolvers(): Promise<string[]> {
  const texts = await Promise.all(RESOLVER_FILES.map((path) => readFile(path, 'utf8').catch(() => '')));
  return [...new Set(texts.flatMap(parseResolvers))];
}

/** Makes each chain hold these rules in this order, all in one atomic step: there is no moment without them. */
async function fillChains(family: Family, chains: Readonly<Record<string, string[][]>>): Promise<void> {
  const lines = ['*filter'];
  for (const [chain, rules] of Object.entries(chains))
    lines.push(`:${chain} - [0:0]`, `-F ${chain}`, ...rules.map((rule) => `-A ${chain} ${rule.join(' ')}`));
  lines.push('COMMIT', '');
  const restoring = run(`${family}-restore`, ['--noflush', '-w', LOCK_WAIT_S], {
    timeout: IPTABLES_TIMEOUT_MS,
  });
  restoring.child.stdin?.end(lines.join('\n'));
  await restoring;
}

/** Hangs our chains in front, where they do not hang. */
async function hang(family: Family, bridge: string): Promise<void> {
  const standing = await rulesOf(family);
  for (const [parent, chain] of hangingIn(chainsOf(bridge), family))
    if (!standing.includes(hookOf(parent, bridge, chain)))
      await iptables(family, '-I', parent, '1', '-i', bridge, '-j', chain);
}

/** Every rule of the host, as `iptables -S` writes it. */
async function rulesOf(family: Family): Promise<string[]> {
  const { stdout } = await run(family, ['-w', LOCK_WAIT_S, '-S'], { timeout: IPTABLES_TIMEOUT_MS });
  return stdout.split('\n');
}

/** The rule by which a chain of ours hangs in another, as `iptables -S` writes it. */
function hookOf(parent: string, bridge: string, chain: string): string {
  return `-A ${parent} -i ${bridge} -j ${chain}`;
}

async function iptables(family: Family, ...rule: string[]): Promise<void> {
  await run(family, ['-w', LOCK_WAIT_S, ...rule], { timeout: IPTABLES_TIMEOUT_MS });
}
