// What root in a computer cannot reach. Each measure is attacked from inside against the real system: the host,
// services on it and behind it, other computers, kernel interfaces, and the agent's access to /workspace.
// docs/computers.md lists the measures; bombs.test.ts tests exhaustion.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startMongo, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkName } from '../docker/network.ts';
import {
  exposeEverywhere,
  type HostServer,
  hostAddresses,
  hostReaches,
  listenForDatagrams,
} from './__fixtures__/host-targets.ts';
import { type NetworkBehind, networkBehind } from './__fixtures__/network-behind.ts';
import type { Container } from './container.ts';
import { listFolder, openEntry } from './open-entry.ts';
import { removeEntry } from './remove-entry.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';
import { workspaceNames, workspacePath } from './workspace-path.ts';

const exec = promisify(execFile);

/** Metadata services of clouds (AWS and most others, Alibaba, Azure, Oracle), and addresses of private networks. */
const METADATA_ADDRESSES = ['169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192'];
const PRIVATE_ADDRESSES = ['10.213.7.1', '172.31.213.7', '192.168.213.7', '198.18.213.7', '0.213.7.1'];
/** In a network that the operator allows. */
const ALLOWED_ADDRESS = '10.77.213.7';
const NOT_PERMITTED = 'EPERM';
/** A refused connection stays silent for this long. */
const SILENCE_S = 2;
/** An allowed connection answers within this time, even on a busy machine. */
const ANSWER_S = 20;
/** Waits for the lock of the firewall rules, which another program may hold. */
const LOCK_WAIT = ['-w', '10'];
/** The table of the agent's rules. */
const OUR_TABLE = [...LOCK_WAIT, '-t', 'mangle'];

let testHost: TestHost;
let id: string;
let computer: Container;
let neighbour: Container;
let behind: NetworkBehind;
const servers: TestServer[] = [];
const onHost: HostServer[] = [];

beforeAll(async () => {
  behind = await networkBehind([...METADATA_ADDRESSES, ...PRIVATE_ADDRESSES, ALLOWED_ADDRESS]);
  testHost = await openTestHost({ allowedNetworks: ['10.77.0.0/16'], wallsWatchMs: 100 });
  const both = await Promise.all([testHost.createComputer(), testHost.createComputer()]);
  ({ id, computer } = both[0]);
  neighbour = both[1].computer;
  servers.push(...(await Promise.all([startNats(), startMongo()])));
  for (const { port } of servers) onHost.push(await exposeEverywhere(port));
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await testHost?.close();
  for (const server of onHost) await server.close();
  for (const server of servers) await server.stop();
  await behind?.close();
}, SETUP_TIMEOUT_MS);

const sh = async (command: string, where = computer) => (await run(where, command)).output.toString().trim();

/** Runs a Python program in the computer and returns the lines that it prints. */
async function python(program: string, where = computer): Promise<string[]> {
  const { output } = await run(where, 'exec python3 -', { stdin: Buffer.from(PRELUDE + program) });
  return output
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}

/** `attempt(name, f)` prints the outcome: `name: ok`, or `name: ` and the name of the error. */
const PRELUDE = `
import ctypes, errno, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *args):
  if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]) < 0:
    raise OSError(ctypes.get_errno(), '')
def call(name, *args):
  if getattr(libc, name)(*args) < 0: raise OSError(ctypes.get_errno(), '')
def attempt(name, f):
  try:
    f(); print(name + ': ok', flush=True)
  except TimeoutError: print(name + ': silence', flush=True)
  except OSError as e: print(name + ': ' + errno.errorcode.get(e.errno, str(e)), flush=True)
  except Exception as e: print(name + ': ' + type(e).__name__, flush=True)
`;

/** Tries to connect from a computer to all of them at once. @returns those that answered */
async function reached(targets: readonly (readonly [host: string, port: number])[], patienceS = SILENCE_S) {
  const lines = await python(
    `
targets = ${JSON.stringify(targets)}
def reach(host, port):
  def go():
    info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    s = socket.socket(info[0], socket.SOCK_STREAM); s.settimeout(${patienceS}); s.connect(info[4])
  attempt(f'{host} {port}', go)
threads = [threading.Thread(target=reach, args=t) for t in targets]
[t.start() for t in threads]; [t.join() for t in threads]
`,
  );
  expect(lines.length).toBe(targets.length);
  return lines.filter((line) => line.endsWith(': ok')).map((line) => line.slice(0, -': ok'.length));
}

/** The host itself reaches the server. The bridge of another agent may vanish meanwhile, with its address. */
async function expectHeard(server: HostServer, address: string): Promise<void> {
  const heard = server.callers.length;
  if (await hostReaches(address, server.port))
    await expect.poll(() => server.callers.length).toBeGreaterThan(heard);
  else expect(hostAddresses('IPv4')).not.toContain(address);
}

describe('on the network', () => {
  test('the bus and the database are at no address of the host', async () => {
    const addresses = hostAddresses('IPv4');
    const gateway = await sh("ip route | awk '/^default/ {print $3}'");
    expect(addresses).toContain(gateway);
    expect(addresses.length).toBeGreaterThan(1); // docker0's or eth0's, too
    for (const address of addresses) for (const server of onHost) await expectHeard(server, address);
    for (const server of onHost) server.callers.length = 0;
    const targets = [
      ...addresses,
      '127.0.0.1',
      'localhost',
      'host.docker.internal',
      'gateway.docker.internal',
    ].flatMap((address) => onHost.map(({ port }) => [address, port] as const));
    expect(await reached(targets)).toEqual([]);
    expect(onHost.map(({ callers }) => callers)).toEqual([[], []]);
  });

  test('nothing on the host hears a datagram or a ping', async () => {
    const listener = await listenForDatagrams();
    const addresses = hostAddresses('IPv4');
    try {
      await python(`
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for address in ${JSON.stringify(addresses)}:
  for _ in range(3): attempt(address, lambda: s.sendto(b'x', (address, ${listener.port})))
`);
      const pings = await python(`
def ping(address):
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.settimeout(1)
  s.sendto(struct.pack('!BBHHH', 8, 0, 0xf7ff, 0, 0), (address, 0)); s.recv(64)
threads = [threading.Thread(target=attempt, args=(a, lambda a=a: ping(a))) for a in ${JSON.stringify(addresses)}]
[t.start() for t in threads]; [t.join() for t in threads]
`);
      expect(pings.length).toBe(addresses.length);
      expect(pings.filter((line) => line.endsWith(': ok'))).toEqual([]);
      expect(listener.callers).toEqual([]);
    } finally {
      await listener.close();
    }
  });

  test('no metadata service of a cloud answers, and no private network; what the operator allows does', async () => {
    for (const address of behind.addresses) expect(await hostReaches(address, behind.port)).toBe(true);
    const refused = behind.addresses.filter((address) => address !== ALLOWED_ADDRESS);
    expect(await reached(refused.map((address) => [address, behind.port] as const))).toEqual([]);
    expect(await reached([[ALLOWED_ADDRESS, behind.port]], ANSWER_S)).toEqual([
      `${ALLOWED_ADDRESS} ${behind.port}`,
    ]);
  });

  test('no mail server is reached (port 25), where other ports are', async () => {
    expect(await hostReaches(ALLOWED_ADDRESS, behind.smtpPort)).toBe(true);
    const targets = [behind.smtpPort, behind.port].map((port) => [ALLOWED_ADDRESS, port] as const);
    expect(await reached(targets, ANSWER_S)).toEqual([`${ALLOWED_ADDRESS} ${behind.port}`]);
  });

  test('a neighbour is at none of its addresses and names, and hears nothing', async () => {
    const port = 8_000;
    await sh(
      `(python3 -u -m http.server ${port} >/tmp/served 2>&1 &); until curl -s -o /dev/null localhost:${port}; do sleep 0.05; done; : > /tmp/served`,
      neighbour,
    );
    const address = await sh("ip -4 -o addr show eth0 | awk '{print $4}' | cut -d/ -f1", neighbour);
    const { options } = testHost;
    const { Name: name, Config } = await options.docker.getContainer(neighbour.containerId).inspect();
    const names = [address, name.slice(1), Config.Hostname, neighbour.containerId.slice(0, 12)];
    expect(await reached(names.map((one) => [one, port] as const))).toEqual([]);
    await python(`
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for to in ('${address}', '255.255.255.255', '224.0.0.1'): attempt(to, lambda: s.sendto(b'x', (to, ${port})))
`);
    expect(await sh('cat /tmp/served', neighbour)).toBe('');
  });

  test('there is no IPv6: no address but loopback, and none of the host’s answers, mapped ones included', async () => {
    expect(await sh('awk \'$6 != "lo"\' /proc/net/if_inet6 2>/dev/null')).toBe('');
    const bridge = networkName(testHost.options.agentId);
    const own = hostAddresses('IPv6').map((address) => address.replace(/%.*/, '%eth0'));
    const mapped = hostAddresses('IPv4').map((address) => `::ffff:${address}`);
    const targets = [...new Set([...own, ...mapped, 'fe80::1%eth0', 'ff02::1%eth0', 'fd00:ec2::254'])];
    for (const server of onHost) server.callers.length = 0;
    expect(
      await reached(targets.flatMap((address) => onHost.map(({ port }) => [address, port] as const))),
    ).toEqual([]);
    expect(onHost.map(({ callers }) => callers)).toEqual([[], []]);
    // And if there were one: nothing from their bridge passes by IPv6.
    const rules = (await exec('ip6tables', [...OUR_TABLE, '-S'])).stdout;
    for (const [parent, chain] of [
      ['INPUT', `${bridge}-IN`],
      ['FORWARD', `${bridge}-FWD`],
    ]) {
      expect(rules).toContain(`-A ${parent} -i ${bridge} -j ${chain}\n`);
      expect(rules).toContain(`-A ${chain} -j DROP\n`);
    }
  });

  test('no raw packets: no ARP, no forged sender, no sniffing, no other address or route', async () => {
    const lines = await python(`
attempt('packets', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
attempt('raw icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt('raw ip', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255))
attempt('transparent', lambda: socket.socket().setsockopt(socket.SOL_IP, 19, 1))
`);
    expect(lines).toEqual(
      ['packets', 'raw icmp', 'raw ip', 'transparent'].map((one) => `${one}: ${NOT_PERMITTED}`),
    );
    const refused = [
      'ip addr add 10.1.2.3/32 dev eth0',
      'ip route add 169.254.169.254 dev eth0',
      'ip link set eth0 address 02:42:00:00:00:99',
      'ip neigh add 10.1.2.3 lladdr 02:42:00:00:00:99 dev eth0',
      'ip link add dummy0 type dummy',
      'ip netns add other',
    ];
    for (const command of refused) expect(await sh(`${command} 2>/dev/null && echo could`), command).toBe('');
  });

  test('name servers are reached on port 53 only, and names resolve', async () => {
    const resolvers = (await readFile('/etc/resolv.conf', 'utf8')).match(/(?<=nameserver )[\d.]+/g) ?? [];
    expect(await sh('getent hosts "$(npm config get registry | cut -d/ -f3)" >/dev/null && echo found')).toBe(
      'found',
    );
    const others = [22, 80, 443, 4222, 27017].flatMap((port) => resolvers.map((one) => [one, port] as const));
    expect(await reached(others)).toEqual([]);
  });

  test('abstract sockets of the host are not there', async () => {
    const name = `switchyard-isolation-${process.pid}`;
    const server: Server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(`\0${name}`, resolve));
    try {
      const [line] = await python(
        `attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\\0${name}'))`,
      );
      expect(line).toBe('abstract: ECONNREFUSED');
      expect(await sh(`grep -c '${name}' /proc/net/unix || true`)).toBe('0');
    } finally {
      server.close();
    }
  });

  test('nothing more is reached while the engine rewrites its rules', async () => {
    // The engine does this for a moment whenever a network is created on the host.
    const jump = ['FORWARD', '-j', 'DOCKER-USER'];
    await exec('iptables', [...LOCK_WAIT, '-D', ...jump]);
    try {
      expect(await reached(PRIVATE_ADDRESSES.map((address) => [address, behind.port] as const))).toEqual([]);
    } finally {
      // The engine may have put it back itself, for a network of another test.
      await exec('iptables', [...LOCK_WAIT, '-C', ...jump]).catch(() =>
        exec('iptables', [...LOCK_WAIT, '-I', ...jump]),
      );
    }
  });

  test('rules that another program removed are restored', async () => {
    const { forward, input } = {
      forward: `${networkName(testHost.options.agentId)}-FWD`,
      input: `${networkName(testHost.options.agentId)}-IN`,
    };
    const bridge = networkName(testHost.options.agentId);
    await exec('iptables', [...OUR_TABLE, '-D', 'INPUT', '-i', bridge, '-j', input]);
    await exec('iptables', [...OUR_TABLE, '-F', forward]);
    const there = async () => {
      const { stdout } = await exec('iptables', [...OUR_TABLE, '-S']);
      return (
        stdout.includes(`-A INPUT -i ${bridge} -j ${input}\n`) &&
        stdout.includes(`-A ${forward} -d 10.0.0.0/8 -j DROP\n`)
      );
    };
    await expect.poll(there).toBe(true);
    expect(await reached([['169.254.169.254', behind.port]])).toEqual([]);
  });
});

test('the network stays when unused networks are pruned while computers use it', async () => {
  const { docker, agentId } = testHost.options;
  const { NetworksDeleted } = await docker.pruneNetworks({
    filters: { label: [`switchyard.agent=${agentId}`] },
  });
  expect(NetworksDeleted ?? []).toEqual([]);
  expect(await reached([[ALLOWED_ADDRESS, behind.port]], ANSWER_S)).toEqual([
    `${ALLOWED_ADDRESS} ${behind.port}`,
  ]);
});

test('a network that was removed while no computer used it is created again', async () => {
  const other = await openTestHost({ wallsWatchMs: 50 });
  try {
    const { docker, agentId } = other.options;
    const network = docker.getNetwork(networkName(agentId));
    const { Id: removed } = await network.inspect();
    await network.remove();
    await expect.poll(async () => (await network.inspect()).Id).not.toBe(removed);
    const { computer } = await other.createComputer();
    expect((await run(computer, 'grep -c eth0 /proc/net/route')).exitCode).toBe(0);
  } finally {
    await other.close();
  }
});

describe('of the host’s files and devices', () => {
  test('no socket is there: not the engine’s, not the init’s', async () => {
    expect(
      await sh('find / -xdev -type s 2>/dev/null; find /run /var/run /tmp /workspace -type s 2>/dev/null'),
    ).toBe('');
    expect(await sh('ls -A /run/switchyard; touch /run/switchyard/x 2>/dev/null && echo wrote')).toBe('');
  });

  test('devices are those of any container, and no other can be made', async () => {
    const devices = await sh('find /dev -type b; find /dev -maxdepth 1 -type c -printf "%f "');
    expect(devices.split(/\s+/).sort()).toEqual(['full', 'null', 'random', 'tty', 'urandom', 'zero']);
    const lines = await python(`
import stat
for name, kind, major, minor in [('disk', stat.S_IFBLK, 254, 0), ('sda', stat.S_IFBLK, 8, 0), ('loop', stat.S_IFBLK, 7, 0),
    ('mem', stat.S_IFCHR, 1, 1), ('kmsg', stat.S_IFCHR, 1, 11), ('loop-control', stat.S_IFCHR, 10, 237), ('fuse', stat.S_IFCHR, 10, 229)]:
  for folder in ('/dev', '/workspace', '/tmp'):
    attempt(name, lambda: os.mknod(f'{folder}/{name}', 0o600 | kind, os.makedev(major, minor)))
`);
    expect(lines.length).toBe(21);
    expect(lines.filter((line) => !line.endsWith(NOT_PERMITTED))).toEqual([]);
  });

  test('mounts: its own image, /workspace, the init and its own network files, and no way to another', async () => {
    const table = `awk '{for (i = 7; i <= NF; i++) if ($i == "-") print $5, $(i + 1)}' /proc/self/mountinfo`;
    const mounted = (await sh(table)).split('\n');
    const fromDisks = mounted
      .filter((line) => / ext4$|overlay$|xfs$|btrfs$/.test(line))
      .map((line) => line.split(' ')[0]);
    const own = ['/', '/workspace', '/run/switchyard', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];
    const init = await sh('readlink -f /sbin/switchyard-init');
    expect(fromDisks.filter((path = '') => ![...own, init].includes(path))).toEqual([]);
    expect(fromDisks).toEqual(expect.arrayContaining(['/', '/workspace', init]));
    const refused = [
      'mount -t tmpfs x /mnt',
      'mount -t proc x /mnt',
      'mount --bind / /mnt',
      'mount -t overlay -o lowerdir=/,upperdir=/tmp,workdir=/tmp x /mnt',
      'mount -o remount,rw /proc/sys',
      'mount -o remount,rw /sys',
      'mount -t cgroup -o memory x /mnt',
      'mount --make-rshared /workspace',
      'umount /proc/sys',
      'umount /workspace',
      'umount /proc/keys',
    ];
    for (const command of refused) expect(await sh(`${command} 2>/dev/null && echo could`), command).toBe('');
  });

  test('no file handle opens what is outside (open_by_handle_at), and no root is changed', async () => {
    const lines = await python(`
AT_FDCWD = -100
class Handle(ctypes.Structure): _fields_ = [('bytes', ctypes.c_uint), ('kind', ctypes.c_int), ('data', ctypes.c_ubyte * 128)]
handle = Handle(8, 1); handle.data[0] = 2
fd = os.open('/etc/hosts', os.O_RDONLY)
attempt('open_by_handle_at', lambda: syscall(304, fd, ctypes.byref(handle), 0))
attempt('chroot', lambda: call('chroot', b'/tmp'))
attempt('pivot_root', lambda: syscall(155, b'/tmp', b'/tmp'))
`);
    expect(lines).toEqual(
      ['open_by_handle_at', 'chroot', 'pivot_root'].map((one) => `${one}: ${NOT_PERMITTED}`),
    );
  });

  test('the init cannot be replaced, written or removed', async () => {
    const refused = [
      'echo x > /sbin/switchyard-init',
      'rm -f /sbin/switchyard-init',
      'mv /sbin/switchyard-init /tmp/x',
      'chmod 0777 /sbin/switchyard-init',
      'ln -f /bin/true /sbin/switchyard-init',
      'cp --remove-destination /bin/true /sbin/switchyard-init',
    ];
    for (const command of refused)
      expect(await sh(`(${command}) 2>/dev/null && echo could`), command).toBe('');
    expect(await sh('kill -9 1; kill -STOP 1; kill -TERM 1; echo there')).toBe('there');
  });
});

describe('of the kernel', () => {
  test('eight capabilities and no way to more, no new privileges, a seccomp filter', async () => {
    const status = await sh("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
    const fields = Object.fromEntries(status.split('\n').map((line) => line.split(/:\s*/)));
    // CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID NET_BIND_SERVICE
    const eight = BigInt('0x4fb') & ~(1n << 8n);
    for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(BigInt(`0x${fields[set]}`), set).toBe(eight);
    for (const set of ['CapInh', 'CapAmb']) expect(BigInt(`0x${fields[set]}`), set).toBe(0n);
    expect(fields).toMatchObject({ NoNewPrivs: '1', Seccomp: '2' });
  });

  test('a setuid program gives nothing to a non-root user', async () => {
    const script = `cp /usr/bin/id /tmp/who && chown 0:0 /tmp/who && chmod 6755 /tmp/who && cp /tmp/who /workspace/who && chmod 6755 /workspace/who
for who in /tmp/who /workspace/who; do setpriv --reuid=1000 --regid=1000 --clear-groups $who -u; done`;
    expect(await sh(script)).toBe('1000\n1000');
  });

  test('no namespace can be made or entered', async () => {
    for (const flags of ['-U', '-Ur', '-m', '-n', '-p --fork', '-i', '-u', '-C'])
      expect(await sh(`unshare ${flags} true 2>/dev/null && echo could`), flags).toBe('');
    for (const kind of ['mnt', 'net', 'pid', 'uts', 'ipc', 'user', 'cgroup'])
      expect(
        await sh(
          `nsenter --${kind === 'mnt' ? 'mount' : kind}=/proc/1/ns/${kind} true 2>/dev/null && echo could`,
        ),
        kind,
      ).toBe('');
    const [clone] = await python(`attempt('clone3', lambda: syscall(56, 0x10000000 | 17, 0, 0, 0, 0))`);
    expect(clone).toBe(`clone3: ${NOT_PERMITTED}`);
  });

  test('its settings are read only: core_pattern and all others of /proc/sys, sysrq, /sys', async () => {
    const script = `for path in $(find /proc/sys -type f 2>/dev/null) /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/fs/* \\
  /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run /sys/power/state /sys/module/*/parameters/*; do
  [ -f "$path" ] && (true >> "$path") 2>/dev/null && echo "$path"; done; true`;
    expect(await sh(script)).toBe('');
    for (const path of [
      '/proc/kcore',
      '/proc/keys',
      '/proc/timer_list',
      '/proc/kmsg',
      '/sys/firmware/acpi/tables/DSDT',
    ])
      expect(await sh(`head -c 100 ${path} 2>/dev/null | wc -c`), path).toBe('0');
  });

  test('when memory runs out, lowering its score hardly protects a process over those of others', async () => {
    const lower = 'for n in -1 -1000; do echo $n > /proc/self/oom_score_adj; done';
    const score = 'cat /proc/self/oom_score_adj';
    expect(await sh(`${score}; (${lower}) 2>/dev/null; ${score}`)).toBe('10\n10');
  });

  test('cgroups are read only: no release_agent, no other limit, no other group', async () => {
    const script = `for path in $(find /sys/fs/cgroup -type f 2>/dev/null); do (true >> "$path") 2>/dev/null && echo "$path"; done
for folder in /sys/fs/cgroup/ /sys/fs/cgroup/*/; do mkdir "$folder/mine" 2>/dev/null && echo "$folder"; done; true`;
    expect(await sh(script)).toBe('');
    const releaseAgent =
      'mkdir -p /tmp/c && mount -t cgroup -o rdma cgroup /tmp/c && mkdir /tmp/c/x && echo 1 > /tmp/c/x/notify_on_release';
    expect(await sh(`(${releaseAgent}) 2>/dev/null && echo could`)).toBe('');
    expect(await sh('find / -xdev -name release_agent 2>/dev/null')).toBe('');
  });

  test('no host-wide system call: modules, boot, clock, keys, bpf, perf, swap, accounting, ports', async () => {
    const calls: [name: string, call: string][] = [
      ['init_module', "syscall(175, b'x', 1, b'')"],
      ['finit_module', 'syscall(313, 0, b"", 0)'],
      ['delete_module', 'syscall(176, b"loop", 0)'],
      ['kexec_load', 'syscall(246, 0, 0, 0, 0)'],
      ['kexec_file_load', 'syscall(320, 0, 0, 0, b"", 0)'],
      ['reboot', 'syscall(169, 0xfee1dead, 672274793, 0x1234567, 0)'],
      ['settimeofday', 'syscall(164, ctypes.byref((ctypes.c_long * 2)(1, 0)), 0)'],
      ['clock_settime', 'syscall(227, 0, ctypes.byref((ctypes.c_long * 2)(1, 0)))'],
      ['clock_adjtime', 'syscall(305, 0, ctypes.byref((ctypes.c_long * 32)(1)))'],
      ['add_key', 'syscall(248, b"user", b"x", b"y", 1, -3)'],
      ['request_key', 'syscall(249, b"user", b"x", 0, -3)'],
      ['keyctl', 'syscall(250, 0, -3, 1)'],
      ['bpf', 'syscall(321, 0, ctypes.byref((ctypes.c_long * 16)()), 128)'],
      ['perf_event_open', 'syscall(298, ctypes.byref((ctypes.c_long * 16)()), 0, -1, -1, 0)'],
      ['userfaultfd', 'syscall(323, 0)'],
      ['swapon', 'syscall(167, b"/tmp/x", 0)'],
      ['acct', 'syscall(163, b"/tmp/x")'],
      ['quotactl', 'syscall(179, 0x800002, b"/dev/vda", 0, 0)'],
      ['iopl', 'syscall(172, 3)'],
      ['ioperm', 'syscall(173, 0x80, 1, 1)'],
      ['syslog', 'syscall(103, 3, ctypes.create_string_buffer(10), 10)'],
      ['sethostname', 'syscall(170, b"other", 5)'],
      ['setdomainname', 'syscall(171, b"other", 5)'],
      ['nice -20', 'call("setpriority", 0, 0, -20)'],
      ['realtime', 'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))'],
      ['fanotify_init', 'syscall(300, 0, 0)'],
      ['open_tree', 'syscall(428, -100, b"/", 1)'],
      ['fsopen', 'syscall(430, b"ext4", 0)'],
      ['more files', 'syscall(160, 7, ctypes.byref((ctypes.c_long * 2)(1 << 30, 1 << 30)))'],
    ];
    const lines = await python(calls.map(([name, call]) => `attempt('${name}', lambda: ${call})`).join('\n'));
    const refusals = ['EPERM', 'ENOSYS', 'EACCES'];
    expect(lines.map((line) => line.split(': ')[0])).toEqual(calls.map(([name]) => name));
    expect(lines.filter((line) => !refusals.some((one) => line.endsWith(`: ${one}`)))).toEqual([]);
  });

  test('only its own processes are visible, and the init’s memory, files and root are out of reach', async () => {
    const commands = await sh('cat /proc/[0-9]*/comm | sort -u');
    for (const own of ['dockerd', 'containerd', 'node', 'nats-server'])
      expect(commands.split('\n')).not.toContain(own);
    const reading = ['environ', 'mem', 'maps', 'root/etc/hostname', 'cwd/x', 'fd/3', 'exe', 'io', 'auxv'];
    for (const name of reading)
      expect(await sh(`head -c 1 /proc/1/${name} 2>/dev/null | wc -c`), name).toBe('0');
    expect(
      await sh('find /proc/1/root/ /proc/1/map_files/ -mindepth 1 2>/dev/null; readlink /proc/1/fd/*'),
    ).toBe('');
    const lines = await python(`
attempt('attach', lambda: call('ptrace', 16, 1, 0, 0))
attempt('seize', lambda: call('ptrace', 0x4206, 1, 0, 0))
attempt('read', lambda: syscall(310, 1, 0, 0, 0, 0, 0))
attempt('pidfd', lambda: syscall(438, os.pidfd_open(1), 3, 0))
attempt('supervisor', lambda: call('ptrace', 16, os.getppid(), 0, 0))
`);
    expect(lines.filter((line) => !line.endsWith(`: ${NOT_PERMITTED}`))).toEqual([]);
  });

  test('its name and its shared memory are its own', async () => {
    const host = (await exec('hostname')).stdout.trim();
    expect(await sh('hostname')).toBe('computer');
    expect(await sh('hostname other 2>/dev/null; hostname')).toBe('computer');
    expect((await exec('hostname')).stdout.trim()).toBe(host);
    await sh('ipcmk -M 4096 -p 0666; echo secret > /dev/shm/secret', neighbour);
    expect(await sh("ipcs -m | grep -c '^0x' || true; ls /dev/shm /dev/mqueue")).toBe(
      '0\n/dev/mqueue:\n\n/dev/shm:',
    );
    expect(await sh('df -B1M --output=size /dev/shm | tail -1 | tr -d " "')).toBe('64');
  });

  test('a crash leaves nothing on the host, whatever its core_pattern', async () => {
    expect(await sh("grep 'core file size' /proc/self/limits | awk '{print $5, $6}'")).toBe('1 1');
    await sh('cd /workspace && bash -c "ulimit -c unlimited 2>/dev/null; kill -SEGV \\$\\$"; true');
    expect(await sh('find /workspace /tmp -name "core*"')).toBe('');
  });
});

describe('/workspace, as the agent reads and writes it', () => {
  const workspace = () => testHost.host.workspaces.path(id);
  const LINKS = [
    '/etc/shadow',
    '/proc/self/environ',
    '/proc/self/root/etc/hostname',
    '/run/docker.sock',
    '../../../../../../etc/shadow',
    '/',
  ];

  test('follows no link from inside: not on reading, not as a folder, not on deleting', async () => {
    const root = await mkdtemp(join(tmpdir(), 'switchyard-of-the-host-'));
    await writeFile(join(root, 'secret'), 'of the host');
    try {
      await sh(
        `rm -rf links && mkdir links && cd links && ${[...LINKS, root].map((to, n) => `ln -s ${to} l${n}`).join(' && ')}`,
      );
      for (const n of [...LINKS.keys(), LINKS.length])
        for (const path of [`links/l${n}`, `links/l${n}/secret`, `links/l${n}/etc/shadow`])
          await expect(openEntry(workspace(), workspaceNames(path)), path).rejects.toMatchObject({
            param: 'path',
          });
      const folder = await openEntry(workspace(), ['links']);
      if (folder.kind !== 'folder') throw new Error('a file');
      expect(new Set((await listFolder(folder)).entries.map(({ type }) => type))).toEqual(new Set(['link']));
      await folder.handle.close();
      await expect(
        removeEntry(workspace(), workspaceNames(`links/l${LINKS.length}/secret`)),
      ).rejects.toMatchObject({ param: 'path' });
      for (const n of [...LINKS.keys(), LINKS.length]) await removeEntry(workspace(), ['links', `l${n}`]);
      expect(await readFile(join(root, 'secret'), 'utf8')).toBe('of the host');
    } finally {
      await rm(root, { recursive: true });
    }
  });

  test('an upload lands in it or nowhere: it passes no link, and replaces one', async () => {
    const root = await mkdtemp(join(tmpdir(), 'switchyard-of-the-host-'));
    await writeFile(join(root, 'target'), 'of the host');
    const { workspaces } = testHost.host;
    const upload = async (path: string) => {
      const staging = await workspaces.staging(id);
      const staged = await staging.receive(
        (async function* () {
          yield Buffer.from('of the renter');
        })(),
        {},
      );
      try {
        await workspaces.place(id, staged.path, workspacePath(path, 'name'));
      } finally {
        await staged.discard();
      }
    };
    try {
      await sh(`ln -sfn ${root} out && ln -sf ${root}/target file && ln -sfn /proc/self/cwd deep`);
      await expect(upload('out/new')).rejects.toMatchObject({ param: 'path' });
      await expect(upload('out/')).rejects.toMatchObject({ param: 'path' });
      await expect(upload('deep/x')).rejects.toMatchObject({ param: 'path' });
      await upload('file');
      expect(await readdir(root)).toEqual(['target']);
      expect(await readFile(join(root, 'target'), 'utf8')).toBe('of the host');
      expect(await sh('cat file; stat -c %F file')).toBe('of the renterregular file');
    } finally {
      await rm(root, { recursive: true });
    }
  });

  test('pipes, sockets and sparse files do not block the agent', async () => {
    await sh(
      'rm -rf odd && mkdir odd && mkfifo odd/pipe && python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'odd/socket\')" && truncate -s 900M odd/sparse',
    );
    for (const name of ['pipe', 'socket'])
      await expect(openEntry(workspace(), ['odd', name])).rejects.toMatchObject({ param: 'path' });
    const file = await openEntry(workspace(), ['odd', 'sparse']);
    expect(file).toMatchObject({ kind: 'file', bytes: 900 * 1024 ** 2 });
    await file.handle.close();
    for (const name of ['pipe', 'socket', 'sparse']) await removeEntry(workspace(), ['odd', name]);
  });

  test('a lease on a file does not block the agent until the lease ends', async () => {
    await sh(`touch leased; (exec python3 -c '
import fcntl, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open("leased")
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
open("has-lease", "w").close()
signal.pause()' >/dev/null 2>&1) & until test -e has-lease; do sleep 0.05; done`);
    await expect(openEntry(testHost.host.workspaces.path(id), ['leased'])).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'path',
    });
  });

  test('names that are escape sequences, options or not text come unchanged, without effect', async () => {
    await sh(
      `rm -rf names && mkdir names && cd names && touch -- $'\\e]0;title\\a' '-rf' $'a\\nb' '$(reboot)' '..;' '{"a":1}' $'\\xff'`,
    );
    const folder = await openEntry(workspace(), ['names']);
    if (folder.kind !== 'folder') throw new Error('a file');
    const { entries } = await listFolder(folder);
    await folder.handle.close();
    expect(entries.map(({ name }) => name).sort()).toEqual(
      ['\u001b]0;title\u0007', '-rf', 'a\nb', '$(reboot)', '..;', '{"a":1}', '\ufffd'].sort(),
    );
    for (const name of ['-rf', '$(reboot)', 'a\nb']) await removeEntry(workspace(), ['names', name]);
    expect(await sh('ls -A names | wc -l')).toBe('4');
  });
});
