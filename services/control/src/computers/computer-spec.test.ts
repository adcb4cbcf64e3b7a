// Validation of requested computers: each limit at its edge and one step past it, and the parameter named.
import {
  computerLimitsEnv,
  STANDARD_IMAGE,
  toComputerLimits,
  toComputerOptions,
} from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { computerName } from './computer-name.ts';
import { specOf } from './computer-spec.ts';

const limits = toComputerLimits(computerLimitsEnv.parse({}));
const deps = { limits, random: () => 0 };

test('an empty request gets a name, the standard image, and the default size and disk', () => {
  expect(specOf({ stream: true }, deps)).toEqual({
    name: 'amber-badger-000',
    image: STANDARD_IMAGE,
    cpu: 1,
    memory_mb: 1_024,
    disk_gb: 10,
  });
});

test('requested values are kept', () => {
  const asked = { name: 'mine', image: 'debian:12', cpu: 2, memory_mb: 2_048 };
  expect(specOf(asked, deps)).toEqual({ ...asked, disk_gb: 10 });
});

test.each([
  ['cpu', [0.25, 0.5, 3.75, 4], [0, 0.24, 4.25, -1, 0.3, 1.1, 1e9]],
  ['memory_mb', [512, 768, 7_936, 8_192], [0, 256, 511, 513, 1_000, 8_193, 8_448, 1_024.5]],
] as const)('%s is accepted within limits and steps, else refused by name', (param, good, bad) => {
  for (const value of good) expect(() => specOf({ [param]: value }, deps)).not.toThrow();
  for (const value of bad)
    expect(() => specOf({ [param]: value }, deps)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param,
        message: expect.stringMatching(`^${param}: `),
      }),
    );
});

test('an idle time is accepted up to the longest lifetime; a longer one is refused by name', () => {
  const shorter = toComputerLimits(computerLimitsEnv.parse({ SWITCHYARD_MAX_LIFETIME_MINUTES: '1.5' }));
  for (const [of, max] of [
    [limits, 480],
    [shorter, 2], // as the options show it
  ] as const) {
    expect(specOf({ idle_stop_minutes: max }, { ...deps, limits: of }).idle_stop_minutes).toBe(max);
    expect(() => specOf({ idle_stop_minutes: max + 1 }, { ...deps, limits: of })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: 'idle_stop_minutes',
        message: expect.stringContaining(`Use at most ${max}.`),
      }),
    );
  }
});

describe('images', () => {
  test.each([
    'debian',
    'debian:12',
    'library/debian:12-slim',
    'ghcr.io/owner/some_image-1.2__x:v1.0',
    'registry.example.com:5000/a/b/c',
    `debian@sha256:${'a'.repeat(64)}`,
    `debian:12@sha256:${'0'.repeat(64)}`,
  ])('%s is a valid reference', (image) => {
    expect(specOf({ image }, deps).image).toBe(image);
  });

  test.each([
    ' debian',
    'Debian',
    'debian:',
    'debian:-x',
    'debian:12:13',
    '-v/etc:/etc',
    'a//b',
    'a/../b',
    'debian@sha256:abc',
    'debian\n',
    'http://debian',
    'débian',
  ])('%j is not a valid reference', (image) => {
    expect(() => specOf({ image }, deps)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'image' }),
    );
  });

  test('the standard image may be given without its tag', () => {
    expect(specOf({ image: 'switchyard/sandbox-computer' }, deps).image).toBe(STANDARD_IMAGE);
  });
});

test('the options show the limits, with fractions of a minute rounded up', () => {
  const set = computerLimitsEnv.parse({
    SWITCHYARD_IDLE_STOP_MINUTES: '0.05',
    SWITCHYARD_MAX_LIFETIME_MINUTES: '1.5',
    SWITCHYARD_CPU_MAX: '8',
  });
  expect(toComputerOptions(toComputerLimits(set))).toMatchObject({
    cpu: { min: 0.25, max: 8, step: 0.25, default: 1 },
    memory_mb: { min: 512, max: 8_192, step: 256, default: 1_024 },
    burst: { cpu: 8, memory_mb: 8_192 }, // never below the largest computer
    idle_stop_minutes: 1,
    max_lifetime_minutes: 2,
    max_computers: 10,
    pricing: { per_vcpu_minute: 0.0008, disk_gb: 10, currency: 'USD' },
  });
  expect(toComputerLimits(set)).toMatchObject({ idleStopMs: 3_000, maxLifetimeMs: 90_000 });
});

test.each([
  ['SWITCHYARD_CPU_MAX', ['0.25', '256'], ['0', '256.25', '0.3']],
  ['SWITCHYARD_BURST_CPU', ['0.25', '256'], ['0', '256.25', '0.3']],
  ['SWITCHYARD_MEMORY_MB_MAX', ['512', '1048576'], ['256', '1048832', '600']],
  ['SWITCHYARD_BURST_MEMORY_MB', ['512', '1048576'], ['256', '1048832', '600']],
  ['SWITCHYARD_IDLE_STOP_MINUTES', ['0.001', '1440'], ['0', '1441']],
  ['SWITCHYARD_MAX_LIFETIME_MINUTES', ['0.001', '480'], ['0', '481']],
  ['SWITCHYARD_COMMAND_TIMEOUT_SECONDS', ['300', '86400'], ['299', '86401', '300.5']],
  ['SWITCHYARD_MAX_COMPUTERS', ['0', '1000'], ['-1', '1001', '1.5']],
  ['SWITCHYARD_DISK_GB', ['0', '1024'], ['-1', '1025', '1.5']],
])('the setting %s is accepted at its limits and refused beyond them', (name, good, bad) => {
  for (const value of good) expect(computerLimitsEnv.safeParse({ [name]: value }).success).toBe(true);
  for (const value of bad) {
    const { error } = computerLimitsEnv.safeParse({ [name]: value });
    expect(error?.issues.map(({ path }) => path)).toEqual([[name]]);
  }
});

test('a lifetime over eight hours, a zero idle window and a rate in exponent notation are refused', () => {
  for (const wrong of [
    { SWITCHYARD_MAX_LIFETIME_MINUTES: '481' },
    { SWITCHYARD_IDLE_STOP_MINUTES: '0' },
    { SWITCHYARD_PRICE_PER_MINUTE: '1e-5' },
    { SWITCHYARD_COMMAND_TIMEOUT_SECONDS: '299' },
  ])
    expect(computerLimitsEnv.safeParse(wrong).success).toBe(false);
});

test('a generated name has two words and a number', () => {
  for (const random of [() => 0, () => 0.999_999, Math.random])
    expect(computerName(random)).toMatch(/^[a-z]+-[a-z]+-\d{3}$/);
});
