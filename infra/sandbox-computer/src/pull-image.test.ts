import { startRegistry, type TestRegistry } from '@switchyard/testing';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isImagePresent, pullImage } from './pull-image.ts';

const docker = new Docker();
const nobody = () => new AbortController().signal;
let registry: TestRegistry;

beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry?.stop());

test('an image that is pulled is there, and one that breaks off in the middle is an error', async () => {
  const good = await registry.push('base/good');
  await pullImage(docker, good, nobody());
  expect(await isImagePresent(docker, good)).toBe(true);
  await docker.getImage(good).remove();

  const bad = await registry.push('base/bad');
  registry.fault = (path) => (path.includes('/blobs/') ? 'changed' : undefined);
  await expect(pullImage(docker, bad, nobody())).rejects.toThrow(/digest/);
  expect(await isImagePresent(docker, bad)).toBe(false);
});
