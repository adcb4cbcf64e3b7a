// Validation of a command's fields.
import { describe, expect, test } from 'vitest';
import { COMMAND_BYTES_MAX, ENV_ENTRIES_MAX, execRequest, STDIN_BYTES_MAX } from './computer-execs.ts';
import { fromZodError } from './errors.ts';

describe('limits of a command', () => {
  const refusalOf = (request: unknown) => {
    const { error } = execRequest.safeParse(request);
    return error ? fromZodError(error) : null;
  };
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
    expect(refusalOf(allowed)).toBeNull();
    expect(refusalOf(refused)).toMatchObject({ code: 'invalid_request', param });
  });

  test.each([
    ['command', { command: 'echo \0' }],
    ['cwd', { command: 'x', cwd: '/tmp\0' }],
    ['env', { command: 'x', env: { A: '\0' } }],
  ])('a NUL character in %s is refused', (param, request) => {
    expect(refusalOf(request)).toMatchObject({ code: 'invalid_request', param });
  });
});
