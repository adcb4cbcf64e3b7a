// A host that cannot isolate computers takes none: no firewall, or no limit on what they write.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { IMAGE } from '@switchyard/sandbox-computer';
import { makeLogger } from '@switchyard/service';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { chainsOf } from '../docker/firewall.ts';
import { networkName } from '../docker/network.ts';
import { watchRefusal } from '../refusal-gauge.ts';
import { ComputerHost } from './computer-host.ts';
import type { HostParts } from './open-computer-host.ts';
import { openTestHost, run, type TestHost } from './test-host.ts';

const exec = promisify(execFile);
const WALLS_WATCH_MS = 100;
const RETRY_MS = 200;
/** A probe container is made on a busy machine. */
const WAIT_MS = 60_000;

let testHost: TestHost | undefined;
afterEach(async () => {
  await testHost?.close();
  testHost = undefined;
  vi.unstubAllEnvs();
});

function recordingLogger() {
  const warnings: string[] = [];
  return { warnings, logger: makeLogger('test', 'warn', { write: (line) => void warnings.push(line) }) };
}

const reserve = ({ host, options }: TestHost) =>
  host.reserve({ computerId: 'cmp_refused', image: IMAGE, ...options.defaultSize });
const gauge = ({ host }: TestHost) => {
  const metrics = new Registry();
  watchRefusal(metrics, host.refusal);
  return metrics.metrics();
};
const refusedFor = (words: RegExp) =>
  expect.objectContaining({ code: 'no_capacity', message: expect.stringMatching(words) });

describe('without firewall rules', () => {
  /** Makes `iptables-restore` fail while `broken` exists and matches its rules, for this process only. */
  async function breakableFirewall() {
    const folder = await mkdtemp(join(tmpdir(), 'switchyard-iptables-'));
    const broken = join(folder, 'broken');
    const { stdout } = await exec('which', ['iptables-restore']);
    const program = join(folder, 'iptables-restore');
    const script = `#!/bin/sh
rules=$(cat)
if [ -e ${broken} ] && echo "$rules" | grep -q -f ${broken}; then echo 'no chain by that name' >&2; exit 4; fi
echo "$rules" | ${stdout.trim()} "$@"
`;
    await writeFile(program, script);
    await chmod(program, 0o755);
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`);
    return {
      /** @param rules a regular expression; default: all */
      break: (rules = '') => writeFile(broken, `${rules}\n`),
      repair: () => rm(broken),
      remove: () => rm(folder, { recursive: true, force: true }),
    };
  }

  test('a host takes no computers and says so, until a later attempt lays the rules', async () => {
    const firewall = await breakableFirewall();
    try {
      await firewall.break();
      const { logger, warnings } = recordingLogger();
      testHost = await openTestHost({ logger, wallsWatchMs: WALLS_WATCH_MS });
      await expect(reserve(testHost)).rejects.toEqual(refusedFor(/firewall/));
      expect(await gauge(testHost)).toMatch(/\{reason="firewall"\} 1\n.*\{reason="disk_limit"\} 0\n/);
      // Each attempt is logged.
      await expect
        .poll(() => warnings.filter((line) => /Firewall rules not installed/.test(line)).length)
        .toBeGreaterThan(1);
      await firewall.repair();
      await expect.poll(() => testHost!.host.refusal()).toBeUndefined();
      expect(await gauge(testHost)).toMatch(/\{reason="firewall"\} 0\n/);
      const { computer } = await testHost.createComputer();
      expect((await run(computer, 'echo up')).output.toString()).toBe('up\n');
    } finally {
      await firewall.remove();
    }
  });

  test('a host whose first rules lack the limit on connections says why, and installs it in a later round', async () => {
    const firewall = await breakableFirewall();
    try {
      await firewall.break('connlimit');
      const { logger, warnings } = recordingLogger();
      testHost = await openTestHost({ logger, wallsWatchMs: WALLS_WATCH_MS });
      expect(testHost.host.refusal()).toBeUndefined();
      const chain = chainsOf(networkName(testHost.options.agentId)).forward;
      const rules = async () => (await exec('iptables', ['-w', '10', '-t', 'mangle', '-S', chain])).stdout;
      expect(await rules()).not.toContain('connlimit');
      await firewall.repair();
      await expect.poll(rules).toContain('connlimit');
      expect(await rules()).toContain('hashlimit');
      const said = warnings.filter((line) => line.includes('Connections not limited'));
      expect(said).toEqual([expect.stringMatching(/no chain by that name/)]);
    } finally {
      await firewall.remove();
    }
  });

  test('a host whose rules vanish while an image is pulled does not use the image', async () => {
    const network: { unprotectedReason?: string } = {};
    const created = vi.fn();
    const host = new ComputerHost({
      preparation: { status: { ready: true } },
      features: { lacksDisks: false },
      network,
      reservations: { pooled: async () => undefined, created },
      foreignImages: {
        async use(_: unknown, work: (pinned: string) => Promise<unknown>) {
          network.unprotectedReason = 'iptables failed';
          return work('pinned');
        },
      },
    } as unknown as HostParts);
    const request = { computerId: 'cmp_refused', image: 'alpine', cpu: 1, memoryMb: 512 };
    await expect(host.reserve(request)).rejects.toEqual(refusedFor(/firewall/));
    expect(created).not.toHaveBeenCalled();
  });

  test('a host whose rules vanish and cannot be restored takes no new ones; others run on', async () => {
    const firewall = await breakableFirewall();
    try {
      const { logger, warnings } = recordingLogger();
      testHost = await openTestHost({ logger, wallsWatchMs: WALLS_WATCH_MS });
      const { computer } = await testHost.createComputer();
      await firewall.break();
      const bridge = networkName(testHost.options.agentId);
      await exec('iptables', ['-w', '10', '-t', 'mangle', '-F', chainsOf(bridge).forward]);
      await expect.poll(() => testHost!.host.refusal()?.reason).toBe('firewall');
      await expect(reserve(testHost)).rejects.toEqual(refusedFor(/firewall/));
      expect(warnings.join()).toMatch(/Firewall rules not installed/);
      expect((await run(computer, 'echo up')).output.toString()).toBe('up\n');
      await firewall.repair();
      await expect.poll(() => testHost!.host.refusal()).toBeUndefined();
    } finally {
      await firewall.remove();
    }
  });
});

describe('without a limit on what computers write', () => {
  test('a host takes no computers and says so', async () => {
    const { logger, warnings } = recordingLogger();
    testHost = await openTestHost({ diskGb: 0, logger });
    await expect(reserve(testHost)).rejects.toEqual(refusedFor(/SWITCHYARD_COMPUTER_DISKS/));
    expect(await gauge(testHost)).toMatch(/\{reason="disk_limit"\} 1\n/);
    expect(warnings.join()).toMatch(/takes no computers/);
  });

  test('a host that could not make a disk tries again, and takes computers once it can', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'switchyard-host-test-'));
    const images = join(dataDirectory, 'disks', 'images');
    // Open hosts have the folder of disks. It is missing when the first disk is made.
    const ensure = async () => {
      if (isMissing) await rename(images, `${images}.hidden`).catch(() => {});
    };
    let isMissing = true;
    const standardImage = { name: IMAGE, ensure };
    testHost = await openTestHost({ dataDirectory, standardImage, prepareRetryMs: RETRY_MS, warmPool: 1 });
    expect(testHost.host.refusal()?.reason).toBe('disk_limit');
    await expect(testHost.host.workspaces.create('cmp_refused')).rejects.toEqual(refusedFor(/limit/));
    isMissing = false;
    await rename(`${images}.hidden`, images);
    await expect.poll(() => testHost!.host.refusal(), { timeout: WAIT_MS }).toBeUndefined();
    await testHost.host.poolFilled();
    const { id, computer } = await testHost.createComputer();
    expect(testHost.host.workspaces.path(id)).toMatch(/disks.mounts/);
    const devices = 'stat -c %d / /workspace /dev | sort -u | wc -l';
    expect((await run(computer, devices)).output.toString()).toBe('3\n');
  });

  test('a host that could not mount when it was opened tries again, and takes computers once it can', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'switchyard-host-test-'));
    const slots = join(dataDirectory, 'slots');
    await writeFile(slots, 'where the folder of mount points belongs');
    testHost = await openTestHost({ dataDirectory, prepareRetryMs: RETRY_MS });
    expect(testHost.host.refusal()?.reason).toBe('disk_limit');
    await rm(slots);
    await expect.poll(() => testHost!.host.refusal(), { timeout: WAIT_MS }).toBeUndefined();
    const { computer } = await testHost.createComputer();
    expect((await run(computer, 'echo up')).output.toString()).toBe('up\n');
  });

  test('a host takes computers where the setting allows it', async () => {
    testHost = await openTestHost({ diskGb: 0, disks: 'auto' });
    expect(testHost.host.refusal()).toBeUndefined();
    const { computer } = await testHost.createComputer();
    expect((await run(computer, 'echo up')).output.toString()).toBe('up\n');
  });
});
