// The timeout of commands, and the form of their results.
import { type ExecRequest, ServiceError } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import type { Container } from '../computer/container.ts';
import type { ExecResult } from '../computer/exec.ts';
import type { InitClient } from '../computer/init-client.ts';
import { checkTimeout, runCommand } from './command.ts';

const withInit = (init: Partial<InitClient>) =>
  ({ init: init as InitClient }) as Partial<Container> as Container;

test('a timeout is allowed at its limit and refused above it', () => {
  checkTimeout({ command: 'x', timeout: 3_600 }, 3_600);
  expect(() => checkTimeout({ command: 'x', timeout: 3_601 }, 3_600)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'timeout' }),
  );
});

describe('results', () => {
  const raw: ExecResult = {
    output: Buffer.from('out'),
    outputBytes: 3,
    truncated: false,
    exitCode: 7,
    timedOut: false,
    cancelled: false,
    durationMs: 12.4,
  };
  const ending = (result: Partial<ExecResult>) =>
    runCommand(
      {
        container: withInit({ exec: async () => ({ ...raw, ...result }) }),
        recovered: null,
      },
      { command: 'x', timeout: 5 },
      { execId: 'exec-1', signal: new AbortController().signal, outputBytesMax: 1_000 },
    );

  test('a non-zero exit is an answer', async () => {
    expect(await ending({})).toEqual({ stdout: 'out', stderr: '', exit_code: 7, duration_ms: 12 });
  });

  test('invalid UTF-8 becomes U+FFFD; a character cut by the cap is dropped', async () => {
    expect((await ending({ output: Buffer.from([0x61, 0xff, 0x62]) })).stdout).toBe('a\uFFFDb');
    const cut = await ending({ output: Buffer.from('aé').subarray(0, 2), truncated: true });
    expect(cut).toMatchObject({ stdout: 'a', truncated: true });
  });

  test('a byte order mark is output like any other', async () => {
    expect((await ending({ output: Buffer.from('\uFEFFa') })).stdout).toBe('\uFEFFa');
  });

  test('a timeout has the output so far, short enough for one message', async () => {
    await expect(ending({ timedOut: true })).rejects.toMatchObject({
      code: 'command_timed_out',
      details: { stdout: 'out', duration_ms: 12 },
    });
    const long = await ending({ timedOut: true, output: Buffer.alloc(1_000_000, 1) }).catch(
      (error: unknown) => error,
    );
    if (!(long instanceof ServiceError)) throw long;
    expect(JSON.stringify(long.details).length).toBeLessThan(600_000);
    expect(long.details).toMatchObject({ truncated: true });
  });

  test.each([
    ['output that just fits', 'a'.repeat(512 * 1024 - 2), 512 * 1024 - 2, undefined],
    ['one byte more is cut', 'a'.repeat(512 * 1024 - 1), 512 * 1024 - 2, true],
    ['no half character', 'é'.repeat(512 * 1024), 256 * 1024 - 1, true],
    ['by halves where a byte is six in JSON', '\0'.repeat(1_000_000), (512 * 1024 - 2) / 8, true],
  ])('of a timeout: %s', async (_, output, length, truncated) => {
    const error = await ending({ timedOut: true, output: Buffer.from(output) }).catch((e: unknown) => e);
    if (!(error instanceof ServiceError)) throw error;
    const details = error.details as { stdout: string; truncated?: boolean };
    expect(details.stdout).toBe(output.slice(0, Math.floor(length)));
    expect(details.truncated).toBe(truncated);
  });
});

test('a command whose caller has left does not begin; one that outlives its caller does', async () => {
  const begun: string[] = [];
  const container = withInit({
    exec: ({ command }) => {
      begun.push(command);
      return Promise.reject(new Error('of the test'));
    },
  });
  const options = { execId: 'exec-1', signal: AbortSignal.abort(new Error('gone')), outputBytesMax: 1_000 };
  const begin = (request: ExecRequest) => runCommand({ container, recovered: null }, request, options);
  await expect(begin({ command: 'waits' })).rejects.toThrow('gone');
  await expect(begin({ command: 'outlives', on_disconnect: 'continue' })).rejects.toThrow('of the test');
  expect(begun).toEqual(['outlives']);
});
