import { expect, test } from 'vitest';
import { refusalOf, registryOf } from './registry-address.ts';

test.each([
  ['alpine', undefined],
  ['library/alpine:3', undefined],
  ['images.example/a/b:1', 'images.example'],
  ['localhost/x', 'localhost'],
  ['registry.example:5000/a', 'registry.example'],
  // A host to engines since version 23.
  ['Internal/a', 'Internal'],
])('the registry of %s is %s', (image, registry) => {
  expect(registryOf(image)).toBe(registry);
});

test('of several addresses each must be public, or in a network that is allowed', async () => {
  const at = (addresses: string[], allowedNetworks: string[] = []) =>
    refusalOf('registry.example/a', {
      resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      allowedNetworks,
    });
  expect(await at(['93.184.216.34', '2606:2800:220:1::5'])).toBeNull();
  expect(await at(['93.184.216.34', '10.1.2.3'])).toMatchObject({
    why: expect.stringContaining('not a public one'),
  });
  // Of clouds, and IPv4 in the clothes of IPv6.
  for (const address of [
    '168.63.129.16',
    '192.0.0.192',
    '100.100.100.200',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
  ])
    expect(await at([address]), address).not.toBeNull();
  expect(await at(['10.1.2.3'], ['10.1.0.0/16', '192.168.7.7'])).toBeNull();
  expect(await at(['192.168.7.7'], ['10.1.0.0/16', '192.168.7.7'])).toBeNull();
  expect(await at(['10.2.2.3'], ['10.1.0.0/16'])).not.toBeNull();
  expect(await at(['fd00::1'], ['fd00::/8'])).toBeNull();
});
