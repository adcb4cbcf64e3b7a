// The ceiling on a computer's traffic, by real transfers to and from a server outside.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NetworkBehind, networkBehind } from './__fixtures__/network-behind.ts';
import type { Container } from './container.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const ADDRESS = '10.77.214.7';
const MBIT_MAX = 16;
const BYTES_PER_S = (MBIT_MAX * 1_000_000) / 8;
const BYTES = 10 * BYTES_PER_S;
/**
 * The kernel lets up to three of the ten seconds pass at once (the burst), and as much again when the rules are
 * reinstalled meanwhile, as after another test cleared the host's firewall.
 */
const SECONDS_MIN = 3.5;
const TRANSFER_TIMEOUT_MS = 100_000;

let behind: NetworkBehind;
let testHost: TestHost;
let computer: Container;

beforeAll(async () => {
  behind = await networkBehind([ADDRESS]);
  testHost = await openTestHost({ allowedNetworks: ['10.77.0.0/16'], mbitMax: MBIT_MAX });
  ({ computer } = await testHost.createComputer());
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await testHost?.close();
  await behind?.close();
}, SETUP_TIMEOUT_MS);

/** @returns its bytes and its seconds */
async function transfer(request: string): Promise<[bytes: number, seconds: number]> {
  const program = `
import time, urllib.request
began = time.monotonic()
${request}
print(bytes, time.monotonic() - began)
`;
  const { output } = await run(computer, 'exec python3 -', {
    stdin: Buffer.from(program),
    timeoutMs: TRANSFER_TIMEOUT_MS,
  });
  const [bytes, seconds] = output.toString().trim().split(' ').map(Number);
  return [bytes!, seconds!];
}

test('a computer does not receive faster than its ceiling', async () => {
  const url = `http://${ADDRESS}:${behind.port}/${BYTES}`;
  const [bytes, seconds] = await transfer(`bytes = len(urllib.request.urlopen('${url}').read())`);
  expect(bytes).toBe(BYTES);
  expect(seconds).toBeGreaterThan(SECONDS_MIN);
});

test('a computer does not send faster than its ceiling', async () => {
  const url = `http://${ADDRESS}:${behind.port}/`;
  const [bytes, seconds] = await transfer(
    `bytes = ${BYTES}; urllib.request.urlopen('${url}', data=bytearray(bytes)).read()`,
  );
  expect(bytes).toBe(BYTES);
  expect(seconds).toBeGreaterThan(SECONDS_MIN);
});
