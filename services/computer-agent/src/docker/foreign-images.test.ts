// Images from a real registry, pulled by the real engine; the registry's answers go wrong one at a time.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { CreationProgress } from '@switchyard/contracts';
import { type RegistryFault, startRegistry, type TestRegistry } from '@switchyard/testing';
import Docker from 'dockerode';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { createForeignImages, type ForeignImagesOptions, type ImageWish } from './foreign-images.ts';

const MANY_BYTES = 3_000_000;
const docker = new Docker();
let registry: TestRegistry;
let memory: string;

beforeAll(async () => {
  registry = await startRegistry();
}, 120_000);
beforeEach(async () => {
  memory = await mkdtemp(join(tmpdir(), 'switchyard-images-'));
});
afterEach(async () => {
  registry.fault = () => undefined;
  await rm(memory, { recursive: true, force: true });
});
afterAll(() => registry?.stop(), 120_000);

const images = (change: Partial<ForeignImagesOptions> = {}) =>
  createForeignImages({
    docker,
    memory,
    gbMax: 1,
    hasRoom: () => true,
    logger: { info: () => {}, warn: () => {} },
    allowedNetworks: ['127.0.0.0/8'],
    ...change,
  });
const ensure = (
  image: string,
  { onPull, signal, ...change }: Partial<ForeignImagesOptions> & Omit<ImageWish, 'image'> = {},
) => images(change).use({ image, onPull, signal }, async (pinned) => pinned);

/** What the engine has of a repository of the test's registry. */
const left = async (image: string) => {
  const repository = image.replace(/:\w+$/, '');
  return (await docker.listImages({ all: true })).filter(({ RepoTags, RepoDigests }) =>
    [...(RepoTags ?? []), ...(RepoDigests ?? [])].some((name) => name.startsWith(repository)),
  );
};
const unavailable = (reason: string, message: RegExp) =>
  expect.objectContaining({
    code: 'image_unavailable',
    param: 'image',
    details: expect.objectContaining({ reason }),
    message: expect.stringMatching(message),
  });
const onLayers = (fault: RegistryFault) => (path: string) => (/\/blobs\//.test(path) ? fault : undefined);
const onManifests = (fault: RegistryFault) => (path: string) =>
  /\/manifests\//.test(path) ? fault : undefined;

describe('an image of a public registry', () => {
  test('is pulled by its digest, told of meanwhile, and not asked for again', async () => {
    const image = await registry.push('good/one', { bytes: MANY_BYTES });
    const told: object[] = [];
    const logger = { info: (fields: object) => void told.push(fields), warn: () => {} };
    const pinned = await ensure(image, { logger });
    expect(pinned).toMatch(/good\/one@sha256:[a-f0-9]{64}$/);
    expect((await docker.getImage(pinned).inspect()).Size).toBeGreaterThan(MANY_BYTES);
    expect(told).toContainEqual({
      image,
      progress: expect.stringMatching(/^\d of \d layers, \d of \d MB$|^nothing/),
    });
    expect(told).toContainEqual({ image, pinned, bytes: expect.any(Number) });
    const asked = registry.asked.length;
    expect(await ensure(image)).toBe(pinned);
    expect(registry.asked).toHaveLength(asked);

    // By hand it was removed: it is pulled again.
    await docker.getImage(pinned).remove();
    expect(await ensure(image)).toBe(pinned);
    await docker.getImage(pinned).remove();
  });

  test('leaves the names of the host’s own images where they are', async () => {
    const image = await registry.push('good/named');
    const own = await ownImage(image);
    const pinned = await ensure(image);
    expect((await docker.getImage(image).inspect()).Id).toBe(own);
    expect((await docker.getImage(pinned).inspect()).Id).not.toBe(own);
    for (const name of [image, pinned]) await docker.getImage(name).remove();
  });

  test('with a tag, a digest or both is the one that is meant', async () => {
    const image = await registry.push('good/tagged');
    const pinned = await ensure(image.replace(/:latest$/, ''));
    const digest = pinned.slice(pinned.indexOf('@'));
    for (const name of [image, `${image}${digest}`, pinned]) expect(await ensure(name)).toBe(pinned);
    await docker.getImage(pinned).remove();
  });
});

describe('an image that goes to make room', () => {
  test('is waited for by who wants it, and pulled again', async () => {
    const image = await registry.push('room/removed');
    const slow = new SlowlyRemoving();
    const { use, removeUnused } = images({ docker: slow });
    const pinned = await use({ image }, async (name) => name);
    const removal = removeUnused();
    await slow.asked;
    const again = use({ image }, async (name) => {
      await removal;
      return (await docker.getImage(name).inspect()).RepoDigests;
    });
    for (let turn = 0; turn < 3; turn += 1) await docker.getImage(pinned).inspect(); // whoever does not wait has it by now
    slow.goOn();
    expect(await removal).toBe(1);
    expect(await again).toEqual([pinned]);
    expect(await removeUnused()).toBe(1); // it is remembered
  });

  test('stays as long as it is used, by whatever name', async () => {
    const image = await registry.push('room/used');
    const { use, removeUnused } = images();
    await use({ image }, async (pinned) => {
      expect(await removeUnused()).toBe(0);
      await use({ image: pinned }, async () => {});
      expect(await removeUnused()).toBe(0);
      expect((await docker.getImage(pinned).inspect()).RepoDigests).toEqual([pinned]);
    });
    expect(await removeUnused()).toBe(1);
    expect(await left(image)).toEqual([]);
  });

  test('is left alone while the note of it is empty: its agent died over it, or writes it', async () => {
    const image = await registry.push('room/noted');
    const { use, removeUnused } = images();
    const pinned = await use({ image }, async (name) => name);
    for (const note of await readdir(memory)) await writeFile(join(memory, note), '');
    expect(await removeUnused()).toBe(0);
    expect(await use({ image }, async (name) => name)).toBe(pinned);
    expect(await removeUnused()).toBe(1);
  });
});

describe('an image that cannot be had: the error says why, and nothing of it is left', () => {
  test.each<[string, RegistryFault, string, RegExp]>([
    ['a login is wanted', { status: 401 }, 'unauthorized', /wants a login/],
    ['it is not for everybody', { status: 403 }, 'unauthorized', /not give it to everybody/],
    ['there is none', { status: 404 }, 'not_found', /no such image/],
    ['the registry was asked too often', { status: 429 }, 'rate_limited', /asked too often/],
    ['the registry is broken', { status: 500 }, 'failed', /500/],
  ])('%s', async (_what, fault, reason, message) => {
    const image = await registry.push('bad/status');
    registry.fault = onManifests(fault);
    await expect(ensure(image)).rejects.toEqual(unavailable(reason, message));
    expect(await left(image)).toEqual([]);
  });

  test('a tag or repository that is not there, and a registry that does not answer', async () => {
    const image = await registry.push('bad/tag');
    await expect(ensure(image.replace('latest', 'other'))).rejects.toEqual(
      unavailable('not_found', /no such image/),
    );
    await expect(ensure(`${registry.address}/bad/none`)).rejects.toEqual(
      unavailable('not_found', /no such image/),
    );
    await expect(ensure('127.0.0.1:1/bad/none:1')).rejects.toEqual(unavailable('failed', /refused/));
  });

  test('layers that are changed on their way, or end too soon', async () => {
    for (const fault of ['changed', 'cut'] as const) {
      const image = await registry.push(`bad/${fault}`, { bytes: MANY_BYTES });
      registry.fault = onLayers(fault);
      await expect(ensure(image)).rejects.toEqual(unavailable('failed', /digest|EOF|attempts/));
      expect(await left(image)).toEqual([]);
      registry.fault = () => undefined;
      await docker.getImage(await ensure(image)).remove(); // nothing of the broken one stood in the way
    }
  });

  test('a pull that stands still, or takes too long, says how far it came', async () => {
    const image = await registry.push('bad/stalled', { bytes: MANY_BYTES });
    registry.fault = onLayers('stalled');
    // Moved once the engine tells of the layer, however long that takes.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const pull = async (limits: Partial<ForeignImagesOptions>) => {
      const begun = Promise.withResolvers<void>();
      const onPull = ({ layers_total }: CreationProgress) => {
        if (layers_total > 0) begun.resolve();
      };
      const outcome = ensure(image, { onPull, ...limits }).catch((error: unknown) => error);
      await Promise.race([begun.promise, outcome]);
      vi.advanceTimersByTime(500);
      return outcome;
    };
    expect(await pull({ stalledMsMax: 500 })).toEqual(
      unavailable('stalled', /sent nothing for 0.5 s \(0 of 1 layers/),
    );
    expect(await pull({ timeoutMs: 500 })).toEqual(
      unavailable('too_slow', /longer than 0.5 s \(0 of 1 layers/),
    );
    expect(await left(image)).toEqual([]);
  });

  test('one that its caller no longer waits for', async () => {
    const image = await registry.push('bad/left', { bytes: MANY_BYTES });
    const gone = new AbortController();
    registry.fault = (path) => {
      if (!/\/blobs\//.test(path)) return undefined;
      gone.abort(new Error('gone'));
      return 'stalled';
    };
    await expect(ensure(image, { signal: gone.signal })).rejects.toThrow('gone');
    expect(await left(image)).toEqual([]);
  });

  test('one for another kind of machine: it is refused before anything of it comes', async () => {
    const architecture = process.arch === 'arm64' ? 'amd64' : 'arm64';
    const image = await registry.push('bad/machine', { architecture });
    await expect(ensure(image)).rejects.toEqual(
      unavailable('wrong_platform', new RegExp(`linux/${architecture}`)),
    );
    expect(await left(image)).toEqual([]);
  });

  test('one that is too large, packed or only when it is unpacked', async () => {
    for (const zeros of [false, true]) {
      const image = await registry.push(`bad/large-${zeros}`, { bytes: MANY_BYTES, zeros });
      const tooLarge = unavailable('too_large', /larger than 0.002 GB \(SWITCHYARD_IMAGE_GB_MAX\)/);
      await expect(ensure(image, { gbMax: 0.002 })).rejects.toEqual(tooLarge);
      expect(await left(image)).toEqual([]);
    }
  });

  test('one for which the host has no room, or that takes the last of it', async () => {
    const image = await registry.push('bad/room', { bytes: MANY_BYTES });
    const noRoom = unavailable('no_room', /disk .* is nearly full/);
    await expect(ensure(image, { hasRoom: () => false })).rejects.toEqual(noRoom);
    let looks = 0;
    await expect(ensure(image, { hasRoom: () => ++looks < 3 })).rejects.toEqual(noRoom);
    expect(await left(image)).toEqual([]);
  });
});

describe('a registry behind the host', () => {
  test.each(['10.0.0.5', '127.0.0.1', '169.254.169.254', '192.168.1.1', '::1', 'fd00::1'])(
    'at %s is refused before anything is asked of it',
    async (address) => {
      const asked: string[] = [];
      const silent = { getImage: (name: string) => asked.push(name) } as unknown as Docker;
      const pulled = ensure('registry.example/a:1', {
        docker: silent,
        allowedNetworks: ['172.16.0.0/12'],
        resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
      });
      await expect(pulled).rejects.toEqual(unavailable('private_registry', /not a public one/));
      expect(asked).toEqual([]);
    },
  );

  test('that cannot be found is said', async () => {
    const resolve = () => Promise.reject(new Error('ENOTFOUND'));
    await expect(ensure('registry.example/a:1', { resolve })).rejects.toEqual(
      unavailable('private_registry', /cannot be found/),
    );
  });
});

test('what a registry sends the engine on to is not told to callers', async () => {
  const neighbour = createServer((_, answer) =>
    answer.writeHead(404).end('<html>secret of a neighbour</html>'),
  );
  neighbour.listen(0, '127.0.0.2');
  await once(neighbour, 'listening');
  const elsewhere = `http://127.0.0.2:${(neighbour.address() as AddressInfo).port}/secret`;
  const sending = createServer((_, answer) => answer.writeHead(307, { location: elsewhere }).end());
  sending.listen(0, '127.0.0.1');
  await once(sending, 'listening');
  try {
    const image = `127.0.0.1:${(sending.address() as AddressInfo).port}/bad/sent-on:1`;
    const error = await ensure(image).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'image_unavailable' });
    expect(String(error)).not.toMatch(/secret|127\.0\.0\.2/);
  } finally {
    for (const server of [neighbour, sending]) server.close();
  }
});

test('no note is left of what was refused', async () => {
  const before = await readdir(memory);
  registry.fault = () => ({ status: 429 });
  await expect(ensure(await registry.push('bad/note'))).rejects.toThrow();
  expect(await readdir(memory)).toEqual(before);
});

/** The real engine, which removes images when it is let. */
class SlowlyRemoving extends Docker {
  readonly #asked = Promise.withResolvers<void>();
  readonly #let = Promise.withResolvers<void>();
  readonly asked = this.#asked.promise;
  goOn = () => this.#let.resolve();

  override getImage(name: string): Docker.Image {
    const image = super.getImage(name);
    const remove = image.remove.bind(image) as () => Promise<unknown>;
    return Object.assign(image, {
      remove: async () => {
        this.#asked.resolve();
        await this.#let.promise;
        return remove();
      },
    });
  }
}

/** An image of this host's own that has the same name as the one in the registry. @returns its id */
async function ownImage(name: string): Promise<string> {
  const tar = Buffer.alloc(1_024); // an archive of nothing
  const imported = await docker.importImage(Readable.from([tar]) as unknown as string, {
    repo: name.replace(/:latest$/, ''),
    tag: 'latest',
    message: randomBytes(8).toString('hex'),
  });
  imported.resume();
  await once(imported, 'end');
  return (await docker.getImage(name).inspect()).Id;
}
