// What a command may ask for, and how its end is told.
import { COMMAND_BYTES_MAX, ENV_ENTRIES_MAX, ServiceError, STDIN_BYTES_MAX } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import type { RunningComputer } from '../computer/computer-host.ts';
import type { ExecResult } from '../computer/exec.ts';
import { checkCommand, runCommand } from './command.ts';

describe('limits', () => {
  const entries = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`V${i}`, '']));

  test.each([
    ['command', { command: 'x'.repeat(COMMAND_BYTES_MAX) }, { command: 'x'.repeat(COMMAND_BYTES_MAX + 1) }],
    // Bytes are counted, not characters.
    [
      'command',
      { command: 'é'.repeat(COMMAND_BYTES_MAX / 2) },
      { command: 'é'.repeat(COMMAND_BYTES_MAX / 2 + 1) },
    ],
    ['timeout', { command: 'x', timeout: 3_600 }, { command: 'x', timeout: 3_601 }],
    [
      'env',
      { command: 'x', env: entries(ENV_ENTRIES_MAX) },
      { command: 'x', env: entries(ENV_ENTRIES_MAX + 1) },
    ],
    [
      'stdin',
      { command: 'x', stdin: 'x'.repeat(STDIN_BYTES_MAX) },
      { command: 'x', stdin: 'x'.repeat(STDIN_BYTES_MAX + 1) },
    ],
  ])('%s is taken at its limit and refused one past it', (param, allowed, refused) => {
    checkCommand(allowed, 3_600);
    expect(() => checkCommand(refused, 3_600)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });

  test.each([
    ['command', { command: 'echo \0' }],
    ['cwd', { command: 'x', cwd: '/tmp\0' }],
    ['env', { command: 'x', env: { A: '\0' } }],
  ])('a NUL character in %s is refused', (param, request) => {
    expect(() => checkCommand(request, 3_600)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });
});

describe('results', () => {
  const raw: ExecResult = {
    output: Buffer.from('out'),
    outputBytes: 3,
    truncated: false,
    exitCode: 7,
    signal: null,
    timedOut: false,
    cancelled: false,
    durationMs: 12.4,
  };
  const ending = (result: Partial<ExecResult>) =>
    runCommand(
      {
        computer: {
          exec: async () => ({ ...raw, ...result }),
        } as Partial<RunningComputer> as RunningComputer,
        recovered: null,
        outputBytesMax: 1_000,
      },
      'exec-1',
      { command: 'x', timeout: 5 },
      new AbortController().signal,
    );

  test('a non-zero exit is an answer', async () => {
    expect(await ending({})).toEqual({ stdout: 'out', stderr: '', exit_code: 7, duration_ms: 12 });
  });

  test('bytes that are no UTF-8 become U+FFFD; a character cut by the cap goes', async () => {
    expect((await ending({ output: Buffer.from([0x61, 0xff, 0x62]) })).stdout).toBe('a\uFFFDb');
    const cut = await ending({ output: Buffer.from('aé').subarray(0, 2), truncated: true });
    expect(cut).toMatchObject({ stdout: 'a', truncated: true });
  });

  test('a byte order mark is output like any other', async () => {
    expect((await ending({ output: Buffer.from('\uFEFFa') })).stdout).toBe('\uFEFFa');
  });

  test('a timeout tells the output so far, short enough for one message', async () => {
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
    ['all of what just fits', 'a'.repeat(512 * 1024 - 2), 512 * 1024 - 2, undefined],
    ['of one byte more what fits', 'a'.repeat(512 * 1024 - 1), 512 * 1024 - 2, true],
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
