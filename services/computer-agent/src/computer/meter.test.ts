// Usage of a computer, read from both versions of cgroups while it works.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Meter, toMeasured } from './meter.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';
import { WorkspaceMeter } from './workspace-meter.ts';

/** The machine may be busy. */
const PATIENCE_MS = 60_000;
const NOW = new Date('2026-11-21T12:00:00Z');
const DISK = { workspace_bytes: 1, workspace_bytes_max: null, measured_at: NOW.toISOString() };
const NETWORK = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    9000       2    0    0    0     0          0         0     9000       2    0    0    0     0       0          0
  eth0:     200       2    0    0    0     0          0         0      300       2    0    0    0     0       0          0
`;

describe('the files of a cgroup', () => {
  const files = (content: Readonly<Record<string, string>>) => (path: string) =>
    path === '/proc/net/dev' ? NETWORK : content[path.replace('/sys/fs/cgroup/', '')];

  test.each([
    [
      'version 1',
      {
        'cpuacct/cpuacct.usage': '2500000000\n',
        'cpu/cpu.cfs_quota_us': '400000\n',
        'cpu/cpu.cfs_period_us': '100000\n',
        'memory/memory.usage_in_bytes': '5000\n',
        'memory/memory.limit_in_bytes': '9000\n',
        'memory/memory.stat': 'cache 1\ninactive_file 7\ntotal_inactive_file 1000\n',
        'pids/pids.current': '3\n',
        'pids/pids.max': '512\n',
      },
    ],
    [
      'version 2',
      {
        'cpu.stat': 'usage_usec 2500000\nuser_usec 1\n',
        'cpu.max': '400000 100000\n',
        'memory.current': '5000\n',
        'memory.max': '9000\n',
        'memory.stat': 'anon 1\ninactive_file 1000\n',
        'pids.current': '3\n',
        'pids.max': '512\n',
      },
    ],
  ])('%s', (_, content) => {
    expect(toMeasured(files(content), { usedS: 0.3, elapsedS: 0.2 }, DISK, NOW)).toEqual({
      measured_at: '2026-11-21T12:00:00.000Z',
      cpu: { seconds: 2.5, cores_used: 1.5, cores_max: 4 },
      memory: { bytes: 4_000, bytes_max: 9_000 },
      disk: DISK,
      network: { received_bytes: 200, sent_bytes: 300 },
      processes: { count: 3, count_max: 512 },
    });
  });

  test('no limit is null, and files of neither version are an error', () => {
    const unlimited = {
      'cpuacct/cpuacct.usage': '0',
      'cpu/cpu.cfs_quota_us': '-1',
      'cpu/cpu.cfs_period_us': '100000',
      'memory/memory.usage_in_bytes': '0',
      'memory/memory.limit_in_bytes': '9223372036854771712',
      'pids/pids.max': 'max',
    };
    expect(toMeasured(files(unlimited), { usedS: 0, elapsedS: 1 }, DISK, NOW)).toMatchObject({
      cpu: { cores_max: null },
      memory: { bytes_max: null },
      processes: { count_max: null },
    });
    expect(() => toMeasured(files({}), { usedS: 0, elapsedS: 1 }, DISK, NOW)).toThrow('does not report');
  });
});

describe('a real computer', () => {
  let testHost: TestHost;
  beforeAll(async () => {
    testHost = await openTestHost();
  }, SETUP_TIMEOUT_MS);
  afterAll(() => testHost?.close(), SETUP_TIMEOUT_MS);

  test('its figures follow its load', async () => {
    const { id, computer } = await testHost.createComputer();
    const meter = new Meter(computer.init);
    const workspace = testHost.host.workspaces.path(id);
    const before = await meter.measure(workspace, NOW);
    expect(before).toMatchObject({
      cpu: { cores_max: 4 },
      memory: { bytes_max: 2_048 * 1_024 * 1_024 },
      processes: { count_max: 512 },
    });
    await run(
      computer,
      `head -c 3000000 /dev/zero > file
(while :; do :; done) & echo $! > pids
python3 -c 'import time; x = bytearray(200 << 20); open("ready", "w"); time.sleep(600)' & echo $! >> pids
until [ -e ready ]; do sleep 0.05; done`,
    );
    const later = new Date(NOW.getTime() + 60_000);
    // On a busy machine, 0.1 s may pass without its turn.
    const coresUsed = async () => (await meter.measure(workspace, later)).cpu.cores_used;
    await expect.poll(coresUsed, { timeout: PATIENCE_MS }).toBeGreaterThan(0.05);
    const busy = await meter.measure(workspace, later);
    expect(busy.cpu.seconds).toBeGreaterThan(before.cpu.seconds);
    expect(busy.memory.bytes - before.memory.bytes).toBeGreaterThan(150 << 20);
    expect(busy.processes.count).toBeGreaterThan(before.processes.count);
    expect((busy.disk.workspace_bytes ?? 0) - (before.disk.workspace_bytes ?? 0)).toBeGreaterThan(2_900_000);
    await run(computer, 'kill $(cat pids)');
    // A signalled process ends on its next turn.
    const memory = async () => (await meter.measure(workspace, later)).memory.bytes;
    await expect.poll(memory, { timeout: PATIENCE_MS }).toBeLessThan(busy.memory.bytes - (100 << 20));
  });

  test('whose files are gone is an error, and does not end the agent', async () => {
    const { computer } = await testHost.createComputer();
    // An unhandled rejection would end the process, as it ends this test run.
    await expect(new Meter(computer.init).measure('/gone/with/the/disk', NOW)).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});

test('a workspace that is a folder is counted file by file, and not on each request', async () => {
  const folder = await temporaryFolder('counted');
  const workspace = join(folder, 'files/cmp_x');
  await mkdir(workspace, { recursive: true });
  const meter = new WorkspaceMeter(PATIENCE_MS);
  const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
  const before = await meter.measure(workspace, at(0));
  await writeFile(join(workspace, 'file'), Buffer.alloc(3_000_000));
  expect(await meter.measure(workspace, at(29))).toEqual(before);
  const after = await meter.measure(workspace, at(30));
  expect((after.workspace_bytes ?? 0) - (before.workspace_bytes ?? 0)).toBeGreaterThanOrEqual(3_000_000);
  expect(after).toMatchObject({ workspace_bytes_max: null, measured_at: at(30).toISOString() });
  await rm(folder, { recursive: true });
});
