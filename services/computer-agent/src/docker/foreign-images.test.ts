import Docker from 'dockerode';
import { expect, test } from 'vitest';
import { ensureForeignImage, registryOf } from './foreign-images.ts';

test.each([
  ['alpine', undefined],
  ['library/alpine:3', undefined],
  ['images.example/a/b:1', 'images.example'],
  ['localhost/x', 'localhost'],
  ['registry.example:5000/a', 'registry.example'],
])('the registry of %s is %s', (image, registry) => {
  expect(registryOf(image)).toBe(registry);
});

test.each(['10.0.0.5', '127.0.0.1', '169.254.169.254', '192.168.1.1', '::1', 'fd00::1'])(
  'a registry at %s is refused before anything is asked of it',
  async (address) => {
    const docker = new Docker();
    docker.pull = (() => {
      throw new Error('was asked');
    }) as typeof docker.pull;
    const pulled = ensureForeignImage({
      docker,
      image: 'registry.example/a:1',
      memory: '/nonexistent',
      resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
    });
    await expect(pulled).rejects.toMatchObject({ code: 'image_unavailable', param: 'image' });
    await expect(pulled).rejects.toThrow('not a public one');
  },
);
