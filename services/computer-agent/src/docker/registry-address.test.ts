import { expect, test } from 'vitest';
import { refusalOf, registryOf } from './registry-address.ts';

test.each([
  ['alpine', undefined],
  ['library/alpine:3', undefined],
  ['images.example/a/b:1', 'images.example'],
  ['localhost/x', 'localhost'],
  ['registry.example:5000/a', 'registry.example'],
])('the registry of %s is %s', (image, registry) => {
  expect(registryOf(image)).toBe(registry);
});

test('of several addresses each must be public, or in a network that is allowed', async () => {
  const at = (addresses: string[], allowedNetworks: string[] = []) =>
    refusalOf('registry.example/a', {
      resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      allowedNetworks,
    });
  expect(await at(['203.0.113.5', '2001:db8::5'])).toBeNull();
  expect(await at(['203.0.113.5', '10.1.2.3'])).toMatchObject({
    why: expect.stringContaining('not a public one'),
  });
  expect(await at(['10.1.2.3'], ['10.1.0.0/16', '192.168.7.7'])).toBeNull();
  expect(await at(['192.168.7.7'], ['10.1.0.0/16', '192.168.7.7'])).toBeNull();
  expect(await at(['10.2.2.3'], ['10.1.0.0/16'])).not.toBeNull();
  expect(await at(['fd00::1'], ['fd00::/8'])).toBeNull();
});
