// The networks of two agents on one kernel, each with an engine of its own: what one does with its rules leaves the other's
// computers shut off from the host and from each other.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { STANDARD_IMAGE } from '@switchyard/contracts';
import {
  canStartTestEngine,
  importSmallImage,
  startTestEngine,
  type TestEngine,
  temporaryFolder,
} from '@switchyard/testing';
import type Docker from 'dockerode';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';

const NETWORK_PROCESS = fileURLToPath(new URL('./__fixtures__/network-process.ts', import.meta.url));
const PORT = 8_000;
/** Answers every client; uses bare `socket`, `bind` and `listen`, as the small image lacks Perl's modules. */
const SERVER = `socket(S,2,1,0); bind(S,pack("Sna4x8",2,${PORT},"\\0\\0\\0\\0")); listen(S,9); while(accept(C,S)){print C "neighbour"; close C}`;
/** A blocked connection stays silent for this long. */
const SILENCE_S = 1;
/** An allowed one answers within this, on a busy machine too. */
const ANSWER_S = 20;
const SETUP_TIMEOUT_MS = 300_000;
const run = promisify(execFile);
const test = anyTest.skipIf(!canStartTestEngine());

interface Side {
  readonly engine: TestEngine;
  readonly process: ChildProcess;
  /** Network and bridge. */
  readonly name: string;
  readonly unprotectedReason: string | undefined;
  /** The host's server, on every address. */
  readonly hostPort: number;
  readonly computer: Docker.Container;
  /** Addresses of the computer, and of the host as the computer sees it. */
  readonly address: string;
  readonly gateway: string;
}

let one: Side;
let other: Side;
/** Host of `one`. */
let resolverFile: string;

/** The network of an agent, opened in the network namespace of that process. @param enter runs a program there */
async function openNetwork(enter: readonly string[], engine: TestEngine, ...argv: readonly string[]) {
  const socketPath = engine.address.slice('unix://'.length);
  const [command = '', ...args] = [...enter, process.execPath, NETWORK_PROCESS, socketPath, ...argv];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [{ name, unprotectedReason, port }] = await once(child, 'message');
  return { process: child, name, unprotectedReason, hostPort: port };
}

async function openSide(engine: TestEngine, ...argv: readonly string[]): Promise<Side> {
  await importSmallImage(engine.docker);
  const network = await openNetwork(['nsenter', `--net=${engine.network}`], engine, ...argv);
  const { name } = network;
  const computer = await engine.docker.createContainer({
    Image: STANDARD_IMAGE,
    Cmd: ['perl', '-e', SERVER],
    HostConfig: { NetworkMode: name },
  });
  await computer.start();
  const { IPAddress: address, Gateway: gateway } = (await computer.inspect()).NetworkSettings.Networks[name]!;
  return { ...network, engine, computer, address, gateway };
}

beforeAll(async () => {
  const engine = await startTestEngine({ liveRestore: true });
  const beside = await startTestEngine({ liveRestore: true, beside: engine });
  resolverFile = join(await temporaryFolder('network'), 'resolv.conf');
  await writeFile(resolverFile, 'nameserver 10.1.2.3\n');
  one = await openSide(engine, 'host_one', resolverFile);
  other = await openSide(beside, 'host_other');
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  for (const side of [other, one]) {
    side?.process.disconnect();
    await side?.engine.stop();
  }
  if (resolverFile) await rm(dirname(resolverFile), { recursive: true, force: true });
}, SETUP_TIMEOUT_MS);

/** Text that a computer reads from there; '' if shut off. */
async function reads(from: Side, address: string, port: number, patienceS = SILENCE_S): Promise<string> {
  const command = `timeout ${patienceS} bash -c 'exec 3<>/dev/tcp/${address}/${port} && cat <&3'`;
  const exec = await from.computer.exec({ Cmd: ['bash', '-c', command], AttachStdout: true, Tty: true });
  const output = await exec.start({ Tty: true });
  let text = '';
  output.on('data', (bytes: Buffer) => {
    text += bytes.toString();
  });
  await once(output, 'end');
  return /^(host|neighbour)$/.test(text) ? text : '';
}

const tell = async (side: Side, what: 'lower' | 'raise') => {
  side.process.send(what);
  await once(side.process, 'message');
};

/** Everything that each computer must not reach: the host by either bridge, and the other computer. */
async function expectShut(side: Side, neighbour: Side): Promise<void> {
  const reached = await Promise.all([
    reads(side, side.gateway, side.hostPort),
    reads(side, neighbour.gateway, side.hostPort),
    reads(side, neighbour.address, PORT),
  ]);
  expect(reached).toEqual(['', '', '']);
}

const rulesOf = async (side: Side) => {
  const iptables = ['iptables', '-w', '10', '-t', 'mangle', '-S'];
  const { stdout } = await run('nsenter', [`--net=${side.engine.network}`, ...iptables]);
  return stdout.split('\n').filter((rule) => rule.includes(side.name));
};

test('both are shut off, by rules of their own', async () => {
  expect([one.unprotectedReason, other.unprotectedReason]).toEqual([undefined, undefined]);
  await Promise.all([expectShut(one, other), expectShut(other, one)]);
});

test('one that removes or restores its rules leaves the other’s unchanged', async () => {
  const before = await rulesOf(one);
  await tell(other, 'lower');
  expect(await reads(other, other.gateway, other.hostPort, ANSWER_S)).toBe('host'); // the rules had blocked it
  expect(await rulesOf(one)).toEqual(before);
  await expectShut(one, other);
  await tell(other, 'raise');
  await tell(other, 'raise');
  expect(await rulesOf(one)).toEqual(before);
  expect(await rulesOf(other)).toHaveLength(before.length);
  await Promise.all([expectShut(one, other), expectShut(other, one)]);
});

test('when the name server of the host changes, computers may query the new one, and no longer the old one', async () => {
  const queried = async () => {
    const rules = (await rulesOf(one)).filter((rule) => rule.includes('--dport 53 '));
    return rules.map((rule) => /-d (\S+)/.exec(rule)?.[1]);
  };
  expect(await queried()).toEqual(Array(4).fill('10.1.2.3/32')); // forwarded or to the host, by UDP and TCP
  await writeFile(resolverFile, 'nameserver 10.4.5.6\n');
  await expect.poll(queried).toEqual(Array(4).fill('10.4.5.6/32'));
});

test('an agent in another network namespace than the bridge knows that its rules would not hold', async () => {
  const { process: child, unprotectedReason } = await openNetwork([], one.engine, 'host_elsewhere');
  child.disconnect();
  expect(unprotectedReason).toMatch(/in another network namespace/);
});

test('an engine that is killed and comes back opens neither', async () => {
  await other.engine.kill9();
  await expectShut(one, other);
  await other.engine.restart();
  await Promise.all([expectShut(one, other), expectShut(other, one)]);
});
