import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, expect, test } from 'vitest';
import { ensureBuiltImage } from './ensure-built-image.ts';
import { isImagePresent } from './pull-image.ts';

const docker = new Docker();
const repository = `switchyard-test/built-${randomBytes(4).toString('hex')}`;
const tag = `${repository}:latest`;

afterAll(() => docker.getImage(tag).remove());

/** @returns the id of the image */
async function ensure(hash: string): Promise<string> {
  await ensureBuiltImage({
    ...{ docker, tag, hash, signal: new AbortController().signal },
    onProgress: () => {},
    inWords: () => undefined,
    async prepare({ contextDirectory }) {
      await mkdir(contextDirectory);
      await writeFile(join(contextDirectory, 'recipe'), hash);
      await writeFile(join(contextDirectory, 'Dockerfile'), 'FROM scratch\nCOPY recipe /\nCMD ["/recipe"]\n');
      return {};
    },
  });
  return (await docker.getImage(tag).inspect()).Id;
}

/** The engine refuses a prune while another runs, as for another test: a later call removes the image then. */
async function goneAfter(hash: string, id: string): Promise<void> {
  const isThere = async () => {
    await ensure(hash);
    return isImagePresent(docker, id);
  };
  await expect.poll(isThere).toBe(false);
}

test('an image of an older recipe is removed by the build, or by the first call after its last container', async () => {
  const first = await ensure('1');
  const second = await ensure('2');
  await goneAfter('2', first);
  const container = await docker.createContainer({ Image: second });
  const third = await ensure('3');
  expect(await isImagePresent(docker, second)).toBe(true);
  await container.remove();
  expect(await ensure('3')).toBe(third);
  await goneAfter('3', second);
});

test('an unnamed image that was made from the present one stays', async () => {
  const present = await ensure('4');
  const container = await docker.createContainer({ Image: present });
  const { Id: derived } = (await container.commit({})) as { readonly Id: string };
  await container.remove();
  expect(await ensure('4')).toBe(present);
  expect(await isImagePresent(docker, derived)).toBe(true);
  await docker.getImage(derived).remove();
});
