// What computers may reach: the internet, and name servers. Not the host, not other computers, not private networks,
// not link-local addresses (clouds serve credentials there).
//
// Docker's own rules allow the host and everything behind it, so two chains of ours hang in front: one in DOCKER-USER
// for what is forwarded, one in INPUT for what is meant for the host. No rule of anyone else is touched.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);
const IPTABLES_TIMEOUT_MS = 15_000;
/** Seconds to wait for another program that changes the rules. */
const LOCK_WAIT_S = '10';

const REFUSED_NETWORKS = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const DNS_PORT = '53';
/** systemd-resolved lists the true servers in the second file, which Docker then uses. */
const RESOLVER_FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

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
export async function raiseFirewall({ bridge, allowedNetworks }: FirewallOptions): Promise<void> {
  const chains = chainsOf(bridge);
  const resolvers = await readResolvers();
  const forward = [
    ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'RETURN'],
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
  await fillChain(chains.forward, forward);
  await fillChain(chains.input, input);
  await hang('DOCKER-USER', bridge, chains.forward);
  await hang('INPUT', bridge, chains.input);
}

/** Takes away all that `raiseFirewall` put there. */
export async function lowerFirewall(bridge: string): Promise<void> {
  const chains = chainsOf(bridge);
  for (const [parent, chain] of [
    ['DOCKER-USER', chains.forward],
    ['INPUT', chains.input],
  ] as const) {
    // Each may be missing: what counts is that none is left.
    await iptables('-D', parent, '-i', bridge, '-j', chain).catch(() => {});
    await iptables('-F', chain).catch(() => {});
    await iptables('-X', chain).catch(() => {});
  }
}

/** IPv4 name servers that a resolv.conf names; those on loopback are asked by Docker itself. */
export function parseResolvers(resolvConf: string): string[] {
  return [...resolvConf.matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map((match) => match[1] ?? '')
    .filter((address) => isIPv4(address) && !address.startsWith('127.'));
}

async function readResolvers(): Promise<string[]> {
  const texts = await Promise.all(RESOLVER_FILES.map((path) => readFile(path, 'utf8').catch(() => '')));
  return [...new Set(texts.flatMap(parseResolvers))];
}

/** Makes the chain hold these rules in this order, in one atomic step: there is no moment without them. */
async function fillChain(chain: string, rules: string[][]): Promise<void> {
  const lines = ['*filter', `:${chain} - [0:0]`, `-F ${chain}`];
  for (const rule of rules) lines.push(`-A ${chain} ${rule.join(' ')}`);
  lines.push('COMMIT', '');
  const restoring = run('iptables-restore', ['--noflush', '-w', LOCK_WAIT_S], {
    timeout: IPTABLES_TIMEOUT_MS,
  });
  restoring.child.stdin?.end(lines.join('\n'));
  await restoring;
}

async function hang(parent: string, bridge: string, chain: string): Promise<void> {
  const rule = ['-i', bridge, '-j', chain];
  const hangs = await iptables('-C', parent, ...rule).then(
    () => true,
    () => false,
  );
  if (!hangs) await iptables('-I', parent, '1', ...rule);
}

async function iptables(...rule: string[]): Promise<void> {
  await run('iptables', ['-w', LOCK_WAIT_S, ...rule], { timeout: IPTABLES_TIMEOUT_MS });
}
