import { expect, test } from 'vitest';
import { isVersionAtLeast, readVersion } from './version.ts';

test('the version is read from what a program prints', () => {
  expect(readVersion('nats-server: v2.15.2\n')).toBe('2.15.2');
  expect(readVersion('no version here')).toBeUndefined();
});

test.each([
  ['2.12.0', true],
  ['2.12.1', true],
  ['2.15.2', true],
  ['3.0.0', true],
  ['2.11.99', false],
  ['2.9.10', false],
  ['1.99.99', false],
  ['unknown', false],
])('%s at least 2.12.0: %s', (version, expected) => {
  expect(isVersionAtLeast(version, '2.12.0')).toBe(expected);
});
