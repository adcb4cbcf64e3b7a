// Images from a real registry, pulled by the real engine; the registry's answers fail one at a time.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { CreationProgress } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
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
import { openHeldEngine } from '../__fixtures__/held-engine.ts';
import { createForeignImages, type ForeignImagesDeps } from './foreign-images.ts';
import type { ImageRequest } from './image-pull.ts';

const MANY_BYTES = 3_000_000;
const docker = new Docker();
let registry: TestRegistry;
let memory: string;

beforeAll(async () => {
  registry = await startRegistry();
});
beforeEach(async () => {
  memory = await mkdtemp(join(tmpdir(), 'switchyard-images-'));
});
afterEach(async () => {
  registry.fault = () => undefined;
  await rm(memory, { recursive: true, force: true });
});
afterAll(() => registry?.stop(), 120_000);

const images = (change: Partial<ForeignImagesDeps> = {}) => {
  const { use, removeUnused } = createForeignImages({
    docker,
    memory,
    gbMax: 1,
    hasRoom: () => true,
    roomBytes: async () => Number.POSITIVE_INFINITY,
    logger: makeLogger('test', 'silent'),
    allowedNetworks: ['127.0.0.0/8'],
    ...change,
  });
  return { use, removeUnused: () => removeUnused(async () => false) };
};
const ensure = (
  image: string,
  { onPull, signal, ...change }: Partial<ForeignImagesDeps> & Omit<ImageRequest, 'image'> = {},
) => images(change).use({ image, onPull, signal }, async (pinned) => pinned);

/** The engine's images of a repository of the test's registry. */
const left = async (image: string) => {
  const repository = image.replace(/:\w+$/, '');
  return (await docker.listImages({ all: true })).filter(({ RepoTags, RepoDigests }) =>
    [...(RepoTags ?? []), ...(RepoDigests ?? [])].some((name) => name.startsWith(repository)),
  );
};
/** The reference of the pulled image. */
const byDigest = (pinned: string) => pinned.replace(/:sha256-/, '@sha256:');
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
  test('is pulled by its digest, and not requested again', async () => {
    const image = await registry.push('good/one', { bytes: MANY_BYTES });
    const reported: object[] = [];
    const logger = makeLogger('test', 'info', { write: (line) => void reported.push(JSON.parse(line)) });
    const pinned = await ensure(image, { logger });
    expect(pinned).toMatch(/good\/one:sha256-[a-f0-9]{64}$/);
    expect((await docker.getImage(pinned).inspect()).Size).toBeGreaterThan(MANY_BYTES);
    expect(reported).toContainEqual(expect.objectContaining({ image, pinned, bytes: expect.any(Number) }));
    const asked = registry.requests.length;
    expect(await ensure(image)).toBe(pinned);
    expect(registry.requests).toHaveLength(asked);

    // By hand it was removed: it is pulled again.
    await docker.getImage(pinned).remove();
    expect(await ensure(image)).toBe(pinned);
    await docker.getImage(pinned).remove();
  });

  test('does not move the names of the host’s own images', async () => {
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
    const digest = byDigest(pinned).slice(pinned.lastIndexOf(':'));
    for (const name of [image, `${image}${digest}`, byDigest(pinned)])
      expect(await ensure(name)).toBe(pinned);
    await docker.getImage(pinned).remove();
  });
});

describe('an image removed to make room', () => {
  test('is pulled again once its removal has ended', async () => {
    const image = await registry.push('room/removed');
    const slow = new SlowlyRemoving();
    const { use, removeUnused } = images({ docker: slow });
    const pinned = await use({ image }, async (name) => name);
    const removal = removeUnused();
    await slow.asked;
    const again = use({ image }, async (name) => {
      await removal;
      return (await docker.getImage(name).inspect()).RepoTags;
    });
    for (let turn = 0; turn < 3; turn += 1) await docker.getImage(pinned).inspect(); // without waiting, use begins here
    slow.goOn();
    expect(await removal).toBe(1);
    expect(await again).toEqual([pinned]);
    expect(await removeUnused()).toBe(1); // it is remembered
  });

  test('is removed when another needs more than the free room, and no more than needed', async () => {
    const unused = [await registry.push('room/unused-1'), await registry.push('room/unused-2')];
    const needed = await registry.push('room/needed', { bytes: MANY_BYTES });
    const leftUnused = async () => (await Promise.all(unused.map(left))).flat().length;
    const roomBytes = async () => ((await leftUnused()) === 2 ? MANY_BYTES / 2 : 2 * MANY_BYTES);
    const { use, removeUnused } = images({ roomBytes });
    for (const image of unused) await use({ image }, async () => {});
    expect(await leftUnused()).toBe(2);
    await use({ image: needed }, async () => {});
    expect(await leftUnused()).toBe(1);
    expect(await removeUnused()).toBe(2);
  });

  test('stays as long as it is used, by whatever name', async () => {
    const image = await registry.push('room/used');
    const { use, removeUnused } = images();
    await use({ image }, async (pinned) => {
      expect(await removeUnused()).toBe(0);
      await use({ image: byDigest(pinned) }, async () => {});
      expect(await removeUnused()).toBe(0);
      expect((await docker.getImage(pinned).inspect()).RepoTags).toEqual([pinned]);
    });
    expect(await removeUnused()).toBe(1);
    expect(await left(image)).toEqual([]);
  });

  test('stays while the engine unpacks it, also for a caller that has left, and goes then', async () => {
    const image = await registry.push('room/unpacked');
    const engine = await openHeldEngine();
    onTestFinished(() => engine.close());
    const load = vi.spyOn(engine.docker, 'loadImage');
    const { use, removeUnused } = images({ docker: engine.docker });
    const asked = engine.hold(/^POST .*\/images\/load/);
    const caller = new AbortController();
    const left = expect(use({ image, signal: caller.signal }, async () => {})).rejects.toThrow('gone');
    await asked;
    const archive = load.mock.calls[0]![0] as Readable;
    if (!archive.readableEnded) await once(archive, 'end');
    caller.abort(new Error('gone'));
    await left;
    expect(await removeUnused()).toBe(0);
    engine.release();
    await expect.poll(removeUnused).toBe(1);
  });

  test('is removed also if the engine cannot remove another', async () => {
    const engine = await openHeldEngine();
    onTestFinished(() => engine.close());
    const { use, removeUnused } = images({ docker: engine.docker });
    for (const name of ['room/one', 'room/two'])
      await use({ image: await registry.push(name) }, async () => {});
    // The first in the order in which the notes are read.
    const [note] = await readdir(memory);
    const stuck = await readFile(join(memory, note!), 'utf8');
    engine.fail(new RegExp(`^DELETE .*/images/${stuck}`));
    expect(await removeUnused()).toBe(1);
    expect((await docker.getImage(stuck).inspect()).RepoTags).toEqual([stuck]);
    engine.release();
    expect(await removeUnused()).toBe(1);
  });

  test('stays while its note is empty: its agent died writing it, or is writing it', async () => {
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
    ['login required', { status: 401 }, 'unauthorized', /requires a login/],
    ['access denied', { status: 403 }, 'unauthorized', /denies access/],
    ['not found', { status: 404 }, 'not_found', /no such image/],
    ['too many requests', { status: 429 }, 'rate_limited', /limits the requests/],
    ['the registry is broken', { status: 500 }, 'failed', /500/],
  ])('%s', async (_what, fault, reason, message) => {
    const image = await registry.push('bad/status');
    registry.fault = onManifests(fault);
    await expect(ensure(image)).rejects.toEqual(unavailable(reason, message));
    expect(await left(image)).toEqual([]);
  });

  test('a missing tag or repository, and a registry that does not answer', async () => {
    const image = await registry.push('bad/tag');
    await expect(ensure(image.replace('latest', 'other'))).rejects.toEqual(
      unavailable('not_found', /no such image/),
    );
    await expect(ensure(`${registry.address}/bad/none`)).rejects.toEqual(
      unavailable('not_found', /no such image/),
    );
    await expect(ensure('127.0.0.1:1/bad/none:1')).rejects.toEqual(unavailable('failed', /ECONNREFUSED/));
  });

  test('layers that are changed in transit, or end too soon', async () => {
    for (const fault of ['changed', 'cut'] as const) {
      const image = await registry.push(`bad/${fault}`, { bytes: MANY_BYTES });
      registry.fault = onLayers(fault);
      await expect(ensure(image)).rejects.toEqual(
        unavailable('failed', /digest|cut off|broke off|did not answer/),
      );
      expect(await left(image)).toEqual([]);
      registry.fault = () => undefined;
      await docker.getImage(await ensure(image)).remove(); // nothing was left of the broken one
    }
  });

  test('a stalled or slow pull reports its progress', async () => {
    const image = await registry.push('bad/stalled', { bytes: MANY_BYTES });
    registry.fault = onLayers('stalled');
    // Moved once the engine tells of the layer, however long that takes.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const pull = async (limits: Partial<ForeignImagesDeps>) => {
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
      unavailable('stalled', /no progress for 0.5 s \(0 of 1 layers/),
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

  test('one for another platform is refused before any layer is fetched', async () => {
    const architecture = process.arch === 'arm64' ? 'amd64' : 'arm64';
    const image = await registry.push('bad/machine', { architecture });
    await expect(ensure(image)).rejects.toEqual(
      unavailable('wrong_platform', new RegExp(`linux/${architecture}`)),
    );
    expect(await left(image)).toEqual([]);
  });

  test('one that is too large, packed or only unpacked', async () => {
    for (const zeros of [false, true]) {
      const image = await registry.push(`bad/large-${zeros}`, { bytes: MANY_BYTES, zeros });
      const tooLarge = unavailable('too_large', /larger than 0.002 GB \(SWITCHYARD_IMAGE_GB_MAX\)/);
      await expect(ensure(image, { gbMax: 0.002 })).rejects.toEqual(tooLarge);
      expect(await left(image)).toEqual([]);
    }
  });

  test('one that is too large only because a layer is in it several times', async () => {
    const image = await registry.push('bad/repeated', { bytes: MANY_BYTES, zeros: true, times: 4 });
    await expect(ensure(image, { gbMax: 0.01 })).rejects.toEqual(unavailable('too_large', /0.01 GB/));
    expect(await left(image)).toEqual([]);
    await docker.getImage(await ensure(image, { gbMax: 0.02 })).remove();
  });

  test('one for which the host has no room, or that uses it up', async () => {
    const image = await registry.push('bad/room', { bytes: MANY_BYTES });
    const noRoom = unavailable('no_room', /disk is nearly full/);
    await expect(ensure(image, { hasRoom: () => false })).rejects.toEqual(noRoom);
    let looks = 0;
    await expect(ensure(image, { hasRoom: () => ++looks < 3 })).rejects.toEqual(noRoom);
    expect(await left(image)).toEqual([]);
  });

  test('one that is small when packed, and larger than the room when unpacked', async () => {
    const image = await registry.push('bad/zeros', { bytes: MANY_BYTES, zeros: true });
    const roomBytes = async () => MANY_BYTES / 2;
    await expect(ensure(image, { roomBytes })).rejects.toEqual(unavailable('no_room', /disk is nearly full/));
    expect(await left(image)).toEqual([]);
  });

  test('one without room beside another that the engine unpacks', async () => {
    const [first, second] = [
      await registry.push('room/first', { bytes: MANY_BYTES, zeros: true }),
      await registry.push('room/second', { bytes: MANY_BYTES, zeros: true }),
    ];
    const slow = new SlowlyLoading();
    const { use } = images({ docker: slow, roomBytes: async () => MANY_BYTES * 1.5 });
    const remove = (pinned: string) => docker.getImage(pinned).remove();
    const pulling = use({ image: first }, remove);
    await slow.loading;
    await expect(use({ image: second }, remove)).rejects.toEqual(unavailable('no_room', /nearly full/));
    expect(await left(second)).toEqual([]);
    slow.goOn();
    await pulling;
    await use({ image: second }, remove);
  });
});

test('an image that fills the disk while the engine unpacks it keeps its room until that ends', async () => {
  const [first, second] = [
    await registry.push('room/filling', { bytes: MANY_BYTES, zeros: true }),
    await registry.push('room/beside', { bytes: MANY_BYTES, zeros: true }),
  ];
  const noRoom = unavailable('no_room', /nearly full/);
  const engine = new Docker();
  const received = Promise.withResolvers<void>();
  const unpacking = new PassThrough();
  vi.spyOn(engine, 'loadImage').mockImplementationOnce(async (archive) => {
    await once((archive as Readable).resume(), 'end');
    received.resolve();
    return unpacking;
  });
  let isFull = false;
  const roomBytes = async () => MANY_BYTES * 1.5;
  const { use } = images({ docker: engine, hasRoom: () => !isFull, roomBytes });
  const filling = expect(use({ image: first }, async () => {})).rejects.toEqual(noRoom);
  await received.promise;
  isFull = true;
  unpacking.write('{"status":"Loading layer"}\n');
  await filling;
  isFull = false;
  await expect(use({ image: second }, async () => {})).rejects.toEqual(noRoom);
  unpacking.end();
  await use({ image: second }, (pinned) => docker.getImage(pinned).remove());
});

test('an image is refused while the engine hangs: its computer can be stopped and deleted', async () => {
  const image = await registry.push('bad/hanging');
  const neverPulled = await registry.push('bad/never-pulled');
  const engine = await openHeldEngine();
  onTestFinished(() => engine.close());
  await ensure(image);
  const { use, removeUnused } = images({ docker: engine.docker, answerMsMax: 100 });
  const refused = (asked = image) =>
    expect(use({ image: asked }, async () => {})).rejects.toMatchObject({ code: 'computer_failed' });
  await Promise.all([engine.hold(/^GET .*\/images\//), refused()]);
  engine.release();
  await Promise.all([engine.hold(/^GET .*\/version/), refused(neverPulled)]);
  engine.release();
  const asked = engine.hold(/^DELETE .*\/images\//);
  const removal = removeUnused();
  await asked;
  await refused();
  engine.release();
  expect(await removal).toBe(1);
});

describe('a registry behind the host', () => {
  test.each(['10.0.0.5', '127.0.0.1', '169.254.169.254', '192.168.1.1', '::1', 'fd00::1'])(
    'at %s is refused before any request',
    async (address) => {
      const asked: string[] = [];
      const silent = { getImage: (name: string) => asked.push(name) } as unknown as Docker;
      const pulled = ensure('registry.example/a:1', {
        docker: silent,
        allowedNetworks: ['172.16.0.0/12'],
        lookup: async () => [address],
      });
      await expect(pulled).rejects.toEqual(unavailable('private_registry', /not a public address/));
      expect(asked).toEqual([]);
    },
  );

  test('that cannot be found is said', async () => {
    const lookup = () => Promise.reject(new Error('ENOTFOUND'));
    await expect(ensure('registry.example/a:1', { lookup })).rejects.toEqual(
      unavailable('private_registry', /could not be resolved/),
    );
  });
});

describe('a registry that leads behind the host', () => {
  let neighbour: Server;
  let heard: string[];
  beforeEach(async () => {
    heard = [];
    neighbour = await listen('127.0.0.2', (request, answer) => {
      heard.push(request.url ?? '');
      answer.writeHead(404).end('<html>secret of a neighbour</html>');
    });
  });
  afterEach(() => void neighbour.close());
  /** The registry alone is allowed. */
  const allowedNetworks = ['127.0.0.1/32'];
  const elsewhere = () => `http://127.0.0.2:${portOf(neighbour)}/secret`;
  /** A registry that answers so, and refers all else to the true one. */
  const registryThat = async (handle: RequestListener) => {
    const server = await listen('127.0.0.1', handle);
    onTestFinished(() => void server.close());
    return `127.0.0.1:${portOf(server)}`;
  };

  test.each([301, 302, 307])(
    'by a redirect (%i) is not followed, and nothing of it is revealed',
    async (status) => {
      const address = await registryThat((_, answer) =>
        answer.writeHead(status, { location: elsewhere() }).end(),
      );
      const error = await ensure(`${address}/bad/sent-on:1`, { allowedNetworks }).catch((caught) => caught);
      expect(error).toEqual(unavailable('private_registry', /not a public address|only the ports/));
      expect(String(error)).not.toMatch(/secret|127\.0\.0\.2/);
      expect(heard).toEqual([]);
    },
  );

  test('by a redirect of a layer is not followed, and nothing of the image is left', async () => {
    const image = await registry.push('bad/blob-sent-on');
    const address = await registryThat((request, answer) => {
      const location = request.url?.includes('/blobs/')
        ? elsewhere()
        : `http://${registry.address}${request.url}`;
      answer.writeHead(307, { location }).end();
    });
    const sent = image.replace(registry.address, address);
    await expect(ensure(sent, { allowedNetworks })).rejects.toEqual(unavailable('private_registry', /./));
    expect(heard).toEqual([]);
    expect(await left(sent)).toEqual([]);
  });

  test('by its token server is not asked for a token', async () => {
    const address = await registryThat((_, answer) =>
      answer.writeHead(401, { 'www-authenticate': `Bearer realm="${elsewhere()}",service="x"` }).end(),
    );
    await expect(ensure(`${address}/bad/realm:1`, { allowedNetworks })).rejects.toEqual(
      unavailable('private_registry', /./),
    );
    expect(heard).toEqual([]);
  });

  test('by a name whose address changes is not reached', async () => {
    const image = await registry.push('bad/rebinding');
    let looks = 0;
    const lookup = async () => [++looks === 1 ? '127.0.0.1' : '127.0.0.2'];
    const port = portOf(neighbour);
    // The neighbour listens on the port of the registry that the name stands for at first.
    const first = createServer((request, answer) =>
      answer.writeHead(307, { location: `http://localhost:${port}${request.url}` }).end(),
    ).listen(port, '127.0.0.1');
    await once(first, 'listening');
    onTestFinished(() => void first.close());
    const renamed = image.replace(registry.address, `localhost:${port}`);
    await expect(ensure(renamed, { allowedNetworks, lookup })).rejects.toEqual(
      unavailable('private_registry', /not a public address|only the ports/),
    );
    expect(looks).toBe(2);
    expect(heard).toEqual([]);
  });
});

test('a registry that requires a token of its token server gets it, and its redirected layers are pulled', async () => {
  const image = await registry.push('good/token');
  const asked: string[] = [];
  const server = await listen('127.0.0.1', (request, answer) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname === '/token') {
      asked.push(`${searchParams.get('service')} ${searchParams.get('scope')}`);
      answer.end(JSON.stringify({ token: 'of-everybody' }));
    } else if (request.headers.authorization !== 'Bearer of-everybody') {
      const realm = `http://${request.headers.host}/token`;
      const challenge = `Bearer realm="${realm}",service="tests",scope="repository:good/token:pull"`;
      answer.writeHead(401, { 'www-authenticate': challenge }).end();
    } else answer.writeHead(307, { location: `http://${registry.address}${request.url}` }).end();
  });
  onTestFinished(() => void server.close());
  const pinned = await ensure(image.replace(registry.address, `127.0.0.1:${portOf(server)}`));
  expect(asked).toEqual(['tests repository:good/token:pull']);
  await docker.getImage(pinned).remove();
});

test('two images are pulled at a time; further ones wait, and give up their place when their caller leaves', async () => {
  const names = await Promise.all(Array.from({ length: 11 }, (_, n) => registry.push(`turns/${n}`)));
  const held = Promise.withResolvers<void>();
  registry.fault = onLayers({ heldAfterBytes: 1_000, until: held.promise });
  const { use } = images();
  const latest = new Map<string, CreationProgress>();
  const fetching = () => latest.values().reduce((sum, { bytes_done }) => sum + (bytes_done > 0 ? 1 : 0), 0);
  let fetchingMost = 0;
  const callers = names.map(() => new AbortController());
  const pulls = names.map((image, n) => {
    const onPull = (progress: CreationProgress) => {
      latest.set(image, progress);
      fetchingMost = Math.max(fetchingMost, fetching());
    };
    return use({ image, onPull, signal: callers[n]!.signal }, (pinned) => {
      latest.delete(image);
      return docker.getImage(pinned).remove();
    });
  });
  const waiting = () => [...latest.values()].filter(({ phase }) => phase === 'looking_up').length;
  await expect.poll(() => [fetching(), waiting()]).toEqual([2, 9]);
  const leaving = names.findIndex((image) => latest.get(image)?.phase === 'looking_up');
  const refused = expect(pulls[leaving]).rejects.toThrow('gone');
  callers[leaving]!.abort(new Error('gone'));
  await refused;
  held.resolve();
  await Promise.all(pulls.toSpliced(leaving, 1));
  expect(fetchingMost).toBe(2);
});

test('concurrent creations with one image pull it twice at most', async () => {
  const image = await registry.push('turns/same');
  const { use } = images();
  const before = registry.requests.length;
  const pinned = await Promise.all(Array.from({ length: 6 }, () => use({ image }, async (name) => name)));
  const manifests = registry.requests.slice(before).filter((request) => request.includes('/manifests/'));
  expect(manifests).toHaveLength(2);
  await docker.getImage(pinned[0]!).remove();
});

test('an image whose files unpack to more than its bytes is refused', async () => {
  const image = await registry.push('bad/sparse', { bytes: MANY_BYTES, sparse: true });
  await expect(ensure(image)).rejects.toEqual(unavailable('failed', /sparse files/));
  expect(await left(image)).toEqual([]);
});

test('an image whose files take more of the disk than their bytes is refused', async () => {
  const image = await registry.push('bad/entries', { emptyFiles: 1_000 }); // 4 MB with 4 kB each
  const tooLarge = unavailable('too_large', /larger than 0.003 GB/);
  await expect(ensure(image, { gbMax: 0.003 })).rejects.toEqual(tooLarge);
  expect(await left(image)).toEqual([]);
  await docker.getImage(await ensure(image, { gbMax: 0.006 })).remove();
});

test('an image keeps only its environment: no volumes, labels or programs', async () => {
  const image = await registry.push('good/settings', {
    settings: {
      Env: ['COLOUR=red'],
      Volumes: { '/sbin': {}, '/dev': {} },
      Labels: { large: 'x'.repeat(10_000) },
      Entrypoint: ['/bin/false'],
      OnBuild: ['RUN false'],
    },
  });
  const pinned = await ensure(image);
  const { Config } = await docker.getImage(pinned).inspect();
  expect(Config.Env).toEqual(['COLOUR=red']);
  for (const other of [Config.Volumes, Config.Labels, Config.Entrypoint, Config.OnBuild])
    expect(other ?? null).toBeNull();
  await docker.getImage(pinned).remove();
});

test('no note is left of a refused image', async () => {
  const before = await readdir(memory);
  registry.fault = () => ({ status: 429 });
  await expect(ensure(await registry.push('bad/note'))).rejects.toThrow();
  expect(await readdir(memory)).toEqual(before);
});

async function listen(host: string, handle: RequestListener): Promise<Server> {
  const server = createServer(handle).listen(0, host);
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** The real engine; removals wait until released. */
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

/** The real engine; its answer to the first archive waits until released. */
class SlowlyLoading extends Docker {
  readonly #loading = Promise.withResolvers<void>();
  readonly #let = Promise.withResolvers<void>();
  readonly loading = this.#loading.promise;
  goOn = () => this.#let.resolve();

  override async loadImage(file: string | NodeJS.ReadableStream, options?: object) {
    const answer = await super.loadImage(file, options);
    this.#loading.resolve();
    await this.#let.promise;
    return answer;
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
