// An image as an archive for `docker load`. Layers are streamed through. The archive is completed only if each layer
// matches its digest and the unpacked size is within its limit; the engine ignores an incomplete archive.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import {
  type Descriptor,
  ImageFailure,
  type ImageRegistry,
  type RemoteConfig,
  type RemoteImage,
} from './image-registry.ts';
import { BLOCK_BYTES, entryCounter } from './tar-entries.ts';

const CONFIG_NAME = 'config.json';
export const BYTES_PER_GB = 1024 ** 3;
/** Largest file of a tar header: eleven octal digits. */
const FILE_BYTES_MAX = 8 ** 11 - 1;
const HEADER = { name: 0, mode: 100, size: 124, mtime: 136, checksum: 148, type: 156, magic: 257 } as const;
/** Disk use of an unpacked entry, even an empty file: its inode, and its name in a folder. */
const ENTRY_BYTES = 4_096;
/** Extended header of a sparse file, which unpacks to more bytes than it has. `\d+` would take quadratic time. */
const SPARSE = /\d GNU\.sparse\.\w+=/;
const SPARSE_MARK = 'GNU.sparse.';
/** Bytes kept of each chunk, to find a header that spans two. */
const OVERLAP_BYTES = 64;

interface ArchiveOptions {
  readonly registry: Pick<ImageRegistry, 'layer'>;
  readonly image: RemoteImage;
  readonly config: RemoteConfig;
  /** `repository:tag` that the engine gives it. */
  readonly tag: string;
  /** Maximum of all layers, unpacked. */
  readonly gbMax: number;
  /** Called with the unpacked bytes of all layers before the archive is complete. */
  readonly reserveRoom: (bytes: number) => Promise<void>;
  /** Called with each chunk of a layer. */
  readonly onBytes: (layer: Descriptor, bytesDone: number) => void;
}

/** @throws ImageFailure `too_large`, `failed`; and what the registry or `reserveRoom` throws */
export async function* imageArchive(options: ArchiveOptions): AsyncGenerator<Buffer> {
  const { registry, image, config, tag, gbMax, reserveRoom, onBytes } = options;
  yield* file(CONFIG_NAME, config.bytes);
  let unpackedBytes = 0;
  const done = new Set<string>();
  for (const layer of image.layers) {
    if (done.has(layer.digest)) continue;
    done.add(layer.digest);
    if (layer.size > FILE_BYTES_MAX) throw tooLarge(gbMax);
    yield header(layerName(layer), layer.size);
    // The engine unpacks it once for each place that it has in the image.
    const places = image.layers.filter(({ digest }) => digest === layer.digest).length;
    const onUnpacked = (bytes: number) => {
      unpackedBytes += bytes * places;
      if (unpackedBytes > gbMax * BYTES_PER_GB) throw tooLarge(gbMax);
    };
    let bytesDone = 0;
    for await (const bytes of measured(registry.layer(layer), onUnpacked)) {
      bytesDone += bytes.length;
      onBytes(layer, bytesDone);
      yield bytes;
    }
    yield padding(layer.size);
  }
  await reserveRoom(unpackedBytes);
  const manifest = [{ Config: CONFIG_NAME, RepoTags: [tag], Layers: image.layers.map(layerName) }];
  yield* file('manifest.json', Buffer.from(JSON.stringify(manifest)));
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

/** Passes on a packed layer, and reports the unpacked bytes of each chunk. */
async function* measured(
  packed: AsyncIterable<Buffer>,
  onUnpacked: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const copy = new PassThrough();
  let failure: unknown;
  const counting = pipeline(copy, createGunzip(), async (pieces: AsyncIterable<Buffer>) => {
    let end: Buffer = Buffer.alloc(0);
    const entriesIn = entryCounter();
    for await (const piece of pieces) {
      onUnpacked(piece.length + entriesIn(piece) * ENTRY_BYTES);
      const text = Buffer.concat([end, piece]);
      if (text.includes(SPARSE_MARK) && SPARSE.test(text.toString('latin1')))
        throw new ImageFailure('failed', 'it contains sparse files, which are not supported');
      end = text.subarray(-OVERLAP_BYTES);
    }
  }).catch((error: unknown) => {
    failure = error instanceof ImageFailure ? error : notGzip(error);
  });
  try {
    for await (const bytes of packed) {
      if (failure) throw failure;
      if (!copy.write(bytes)) await Promise.race([once(copy, 'drain').catch(() => {}), counting]);
      yield bytes;
    }
    copy.end();
    await counting;
    if (failure) throw failure;
  } finally {
    copy.destroy();
  }
}

function notGzip(cause: unknown): ImageFailure {
  return new ImageFailure(
    'failed',
    'its layers are not compressed with gzip, the only supported format',
    cause,
  );
}

/** @param gbMax `SWITCHYARD_IMAGE_GB_MAX` */
export function tooLarge(gbMax: number): ImageFailure {
  return new ImageFailure('too_large', `it is larger than ${gbMax} GB (SWITCHYARD_IMAGE_GB_MAX)`);
}

function hexOf({ digest }: Descriptor): string {
  return digest.slice('sha256:'.length);
}

function layerName(layer: Descriptor): string {
  return `${hexOf(layer)}.tar.gz`;
}

function* file(name: string, content: Buffer): Generator<Buffer> {
  yield header(name, content.length);
  yield content;
  yield padding(content.length);
}

/** Header of a plain file in POSIX format (ustar). */
function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, HEADER.name);
  block.write('0000644\0', HEADER.mode);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, HEADER.size);
  block.write('00000000000\0', HEADER.mtime);
  block.write('        ', HEADER.checksum);
  block.write('0', HEADER.type);
  block.write('ustar\x0000', HEADER.magic);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, HEADER.checksum);
  return block;
}

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}
