import { expect, test } from 'vitest';
import { parseImageReference } from './image-reference.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const HUB = 'https://registry-1.docker.io';

test.each([
  ['alpine', HUB, 'library/alpine', 'latest'],
  ['docker.io/alpine:3', HUB, 'library/alpine', '3'],
  ['team/app:1', HUB, 'team/app', '1'],
  ['images.example/a/b:1', 'https://images.example', 'a/b', '1'],
  ['registry.example:5000/a', 'https://registry.example:5000', 'a', 'latest'],
  [`registry.example:5000/a:1@${DIGEST}`, 'https://registry.example:5000', 'a', DIGEST],
  ['localhost/x', 'http://localhost', 'x', 'latest'],
  ['127.0.0.1:5000/x', 'http://127.0.0.1:5000', 'x', 'latest'],
  // A host for engines since 23.
  ['Internal/a', 'https://Internal', 'a', 'latest'],
])('%s is asked for at %s as %s, %s', (image, origin, path, wanted) => {
  expect(parseImageReference(image)).toMatchObject({ origin, path, wanted });
});

test.each(['', 'UPPER', 'a b', 'a:', 'https://x/y', 'a@sha256:1', '../a', '127.0.0.1.evil/x?y'])(
  '%j is no name of an image',
  (image) => {
    expect(parseImageReference(image)).toBeNull();
  },
);

test('a host that only begins like loopback is not queried by plain HTTP', () => {
  expect(parseImageReference('127.0.0.1.evil.example/x')?.origin).toBe('https://127.0.0.1.evil.example');
});
