import { expect, test } from 'vitest';
import { SPEECH_INPUT_CHARACTERS_MAX, speechRequest } from './speech.ts';

const CPU_MS_MAX = 50;
const accepts = (input: string) => speechRequest.safeParse({ model: 'local/speech', input }).success;

test('characters count, not UTF-16 units', () => {
  expect(accepts('😀'.repeat(SPEECH_INPUT_CHARACTERS_MAX))).toBe(true);
  expect(accepts(`${'😀'.repeat(SPEECH_INPUT_CHARACTERS_MAX)}.`)).toBe(false);
});

test('a text of 32 MiB is refused without a count of its characters', () => {
  const input = 'a'.repeat(32 * 1024 * 1024);
  const before = process.threadCpuUsage();
  expect(accepts(input)).toBe(false);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX);
});
