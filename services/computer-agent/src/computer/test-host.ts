// A ComputerHost on the real Docker engine for tests: its own data directory, network and containers, all removed at
// the end.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureImage, IMAGE } from '@switchyard/sandbox-computer';
import { makeLogger } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import Docker from 'dockerode';
import type { ContainerOptions } from '../docker/container-config.ts';
import { mountPoints, unmount } from '../docker/mounts.ts';
import type { ComputerHost } from './computer-host.ts';
import type { Container } from './container.ts';
import type { ExecOptions, ExecResult } from './exec.ts';
import { ensureInitBinary } from './init-binary.ts';
import { type ComputerHostOptions, openComputerHost } from './open-computer-host.ts';

/** The first test that needs the image also builds it. */
export const SETUP_TIMEOUT_MS = 600_000;

export interface TestHost {
  /** The host opened last. */
  readonly host: ComputerHost;
  readonly options: ComputerHostOptions;
  /** A new running computer with a workspace of its own. */
  createComputer(asked?: Partial<ContainerOptions>): Promise<{ id: string; computer: Container }>;
  /** Connects to a container of `createComputer`, as an agent that took it over. */
  connect(computer: Container, host?: ComputerHost): Promise<Container>;
  /** Opens the same agent again; the previous one behaves as if it had been killed. */
  reopen(): Promise<ComputerHost>;
  close(): Promise<void>;
}

export async function openTestHost(overrides: Partial<ComputerHostOptions> = {}): Promise<TestHost> {
  const docker = new Docker();
  const dataDirectory = await mkdtemp(join(tmpdir(), 'switchyard-host-test-'));
  await cp(await compiledInit(), join(dataDirectory, 'init'), { recursive: true });
  /** Container -> computer. */
  const made = new Map<string, string>();
  const options: ComputerHostOptions = {
    agentId: `host_test_${randomBytes(6).toString('hex')}`,
    dataDirectory,
    docker,
    logger: makeLogger('test', 'silent'),
    standardImage: {
      name: IMAGE,
      ensure: async (report, signal) => void (await ensureImage({ docker, onProgress: report, signal })),
    },
    burst: { cpu: 4, memoryMb: 2048 },
    defaultSize: { cpu: 1, memoryMb: 1024 },
    diskGb: 1,
    disks: 'required',
    warmPool: 0,
    imageGbMax: 10,
    hasRoom: () => true,
    roomBytes: async () => Number.POSITIVE_INFINITY,
    ...overrides,
  };
  const hosts: ComputerHost[] = [];
  const last = () => hosts.at(-1)!;
  let killing = new AbortController();
  const open = async () => {
    killing = new AbortController();
    hosts.push(await openComputerHost({ ...options, killed: killing.signal }));
    last().guard();
    last().prepare();
    await last().ready;
    return last();
  };
  await open();

  return {
    get host() {
      return last();
    },
    options,
    async createComputer(asked) {
      const id = `cmp_${randomBytes(6).toString('hex')}`;
      await last().workspaces.create(id);
      const reservation = await last().reserve({
        computerId: id,
        image: IMAGE,
        ...options.defaultSize,
        ...asked,
      });
      made.set(reservation.containerId, id);
      return { id, computer: await reservation.start() };
    },
    connect({ containerId }, host = last()) {
      return host.connect({ computerId: made.get(containerId)!, containerId, ...options.defaultSize });
    },
    async reopen() {
      // Both agents share this process: wait, or the new one would remove what the old one is still making.
      await last().poolFilled();
      killing.abort();
      return open();
    },
    async close() {
      for (const { containerId, pooled } of await last().containers())
        if (!pooled) await last().remove(containerId);
      for (const host of hosts.toReversed()) await host.close();
      // Disks of computers that never ran, or that a test made by hand.
      for (const point of (await mountPoints()).reverse())
        if (point.startsWith(`${options.dataDirectory}/`)) await unmount(point);
      await rm(options.dataDirectory, { recursive: true, force: true });
    },
  };
}

let compiled: Promise<string> | undefined;

/** Folder with the init, compiled once in this process. */
export function compiledInit(): Promise<string> {
  compiled ??= (async () => {
    const docker = new Docker();
    await ensureImage({ docker });
    const directory = await temporaryFolder('init');
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    await ensureInitBinary({ directory, docker, builderImage: IMAGE });
    return directory;
  })();
  return compiled;
}

let execs = 0;

/** Runs a command with generous default limits. */
export function run(
  computer: Container,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<ExecResult> {
  execs += 1;
  return computer.init.exec({
    id: `exec_${execs}`,
    command,
    timeoutMs: 120_000,
    outputBytesMax: 1_048_576,
    ...options,
  });
}
