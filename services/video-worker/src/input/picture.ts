// Reads the first frame of a video from a data URL or a web address, and detects its real media type.
import { invalidParam, type ServiceError, VIDEO_IMAGE_BYTES_MAX } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { VideoImage } from '@switchyard/model-router/video';

/** From DNS lookup to last byte; the caller waits for the whole download. */
const FETCH_TIMEOUT_MS = 20_000;
/** Copies of a downloaded picture in memory: its chunks, then its bytes; later its bytes and what is stored. */
const COPIES = 2;
/** Memory for a download of unknown length. */
export const DOWNLOAD_BYTES_MAX = COPIES * VIDEO_IMAGE_BYTES_MAX;
const DATA_URL = /^data:([^;,]*)(;[^,]*)?,/i;
/** Allows whitespace anywhere. Adjacent parts of the pattern match disjoint characters, which keeps matching linear. */
const BASE64 = /^[A-Za-z0-9+/\s_-]*(?:=\s*){0,2}$/;
/** Maximum length of the part of a data URL before its data. */
const PREAMBLE_LENGTH_MAX = 256;
const MIB = 1024 * 1024;

interface PictureSource {
  egress: Egress;
  signal: AbortSignal;
  /** Takes the memory that a download needs, once it is known; the caller has reserved `DOWNLOAD_BYTES_MAX`. */
  keep(bytes: number): void;
}

/** Whether the picture has to be downloaded. */
export function isRemote(image: string): boolean {
  return !/^data:/i.test(image);
}

/** @throws ServiceError naming `image`: not an image, too large, or an address that we do not fetch. */
export async function readPicture(image: string, from: PictureSource): Promise<VideoImage> {
  const bytes = isRemote(image) ? await download(image, from) : decode(image);
  if (bytes.length > VIDEO_IMAGE_BYTES_MAX) throw tooLarge();
  const mediaType = pictureType(bytes);
  if (mediaType === null) throw invalidParam('image', 'unsupported format. Send PNG, JPEG, WebP or GIF.');
  return { mediaType, bytes };
}

function decode(url: string): Buffer {
  const [preamble, , parameters = ''] = DATA_URL.exec(url.slice(0, PREAMBLE_LENGTH_MAX)) ?? [];
  if (preamble === undefined || !/;base64$/i.test(parameters))
    throw invalidParam('image', 'invalid data URL. Use data:<media_type>;base64,<data>.');
  const data = url.slice(preamble.length);
  if (!BASE64.test(data))
    throw invalidParam('image', 'the data URL is not base64. Encode its data as base64.');
  return Buffer.from(data, 'base64');
}

async function download(url: string, { egress, signal, keep }: PictureSource): Promise<Buffer> {
  const answer = await egress.fetch(url, {
    param: 'image',
    bytesMax: VIDEO_IMAGE_BYTES_MAX,
    timeoutMs: FETCH_TIMEOUT_MS,
    signal,
  });
  try {
    if (answer.status !== 200)
      throw invalidParam('image', `the URL answered ${answer.status}. Use a URL that answers 200.`);
    keep(COPIES * answer.bytesMax);
    const bytes = await answer.bytes();
    keep(COPIES * bytes.length);
    return bytes;
  } finally {
    answer.close();
  }
}

/** Decides by the first bytes; media types declared by servers or callers are ignored. */
function pictureType(bytes: Buffer): string | null {
  if (bytes.subarray(0, 8).equals(PNG)) return 'image/png';
  if (bytes.subarray(0, 3).equals(JPEG)) return 'image/jpeg';
  if (/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return 'image/gif';
  if (/^RIFF.{4}WEBP$/s.test(bytes.toString('latin1', 0, 12))) return 'image/webp';
  return null;
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

function tooLarge(): ServiceError {
  return invalidParam('image', `the picture exceeds ${VIDEO_IMAGE_BYTES_MAX / MIB} MiB. Send a smaller one.`);
}
