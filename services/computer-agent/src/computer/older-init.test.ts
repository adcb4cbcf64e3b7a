// A computer that an earlier agent started has the init of that agent for as long as it runs: it goes on serving what it
// can, and whatever it cannot is refused with the way out. The older ones are the present one with its version taken back.
import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { INIT_SOURCE_DIRECTORY } from './init-binary.ts';
import { PROTOCOL_VERSION } from './init-frames.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const DEFINITION = `#define PROTOCOL_VERSION ${PROTOCOL_VERSION}`;
const COMPILE_TIMEOUT_MS = 60_000;
/** It compiles, and opens a host of its own. */
const TIMEOUT_MS = 240_000;

let builder: TestHost;

beforeAll(async () => {
  builder = await openTestHost();
}, SETUP_TIMEOUT_MS);
afterAll(() => builder?.close(), SETUP_TIMEOUT_MS);

/** A host whose computers begin with an init of this version. */
async function hostOfVersion(version: number): Promise<TestHost> {
  const { id, computer } = await builder.createComputer();
  const sources = join(builder.host.workspaces.path(id), 'init');
  await cp(INIT_SOURCE_DIRECTORY, sources, { recursive: true });
  const header = join(sources, 'protocol.h');
  const text = await readFile(header, 'utf8');
  expect(text).toContain(DEFINITION);
  await writeFile(header, text.replace(DEFINITION, `#define PROTOCOL_VERSION ${version}`));
  const made = await run(computer, 'cd init && gcc -static -O0 -std=gnu17 -o older *.c', {
    timeoutMs: COMPILE_TIMEOUT_MS,
  });
  expect(made.exitCode, made.output.toString()).toBe(0);
  // It stands where the present one would be found, so that nothing is compiled.
  const dataDirectory = await mkdtemp(join(tmpdir(), 'switchyard-host-test-'));
  const [name = ''] = await readdir(join(builder.options.dataDirectory, 'init'));
  await mkdir(join(dataDirectory, 'init'));
  await cp(join(sources, 'older'), join(dataDirectory, 'init', name));
  await computer.stop();
  return openTestHost({ dataDirectory });
}

const tooOld = { code: 'computer_failed', message: expect.stringContaining('stop it and start it again') };
const nobody = () => new AbortController().signal;

test(
  'the first one runs commands and gives their results, and refuses streams, counters and connections',
  async () => {
    const older = await hostOfVersion(1);
    try {
      const { computer } = await older.createComputer();
      expect(await run(computer, 'cat; exit 3', { stdin: Buffer.from('in') })).toMatchObject({
        exitCode: 3,
        output: Buffer.from('in'),
      });
      expect(await computer.execs()).toEqual([]);
      await expect(run(computer, 'true', { consume: async () => {} })).rejects.toMatchObject(tooOld);
      await expect(run(computer, 'true', { keep: true })).rejects.toMatchObject(tooOld);
      await expect(computer.readFiles(['/proc/loadavg'])).rejects.toMatchObject(tooOld);
      await expect(computer.openPort(80, nobody())).rejects.toMatchObject(tooOld);
      expect((await run(computer, 'echo on')).output.toString()).toBe('on\n');
    } finally {
      await older.close();
    }
  },
  TIMEOUT_MS,
);

test(
  'the second one streams and counts as well, and refuses ports and terminals',
  async () => {
    const older = await hostOfVersion(2);
    try {
      const { computer } = await older.createComputer();
      const came: Buffer[] = [];
      const consume = async (bytes: Buffer) => void came.push(bytes);
      expect(await run(computer, 'echo streamed', { consume })).toMatchObject({ exitCode: 0 });
      expect(Buffer.concat(came).toString()).toBe('streamed\n');
      expect(await computer.readFiles(['/proc/sys/kernel/ostype'])).toEqual(['Linux\n']);
      await expect(computer.openPort(80, nobody())).rejects.toMatchObject(tooOld);
      await expect(computer.openTerminal({ columns: 80, rows: 24 }, nobody())).rejects.toMatchObject(tooOld);
      expect((await run(computer, 'echo on')).output.toString()).toBe('on\n');
      await computer.stop();
      expect(await computer.exited).toMatchObject({ reason: 'stopped' });
    } finally {
      await older.close();
    }
  },
  TIMEOUT_MS,
);
