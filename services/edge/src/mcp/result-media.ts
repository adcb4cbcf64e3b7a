// Images and sounds in results: returned as they are when small, else kept for a day as a stored file. Media that cannot
// be stored is returned up to a larger size.
import { type OwnApi, RefusedCall } from './own-api.ts';
import { MEDIA_BYTES_MAX, type Media, STORED_SECONDS, UNSTORED_MEDIA_BYTES_MAX } from './tool.ts';

/** First bytes of the image formats that clients show. */
const IMAGE_SIGNATURES: readonly (readonly [mediaType: string, offset: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
];

/** The media type of an image by its first bytes; null for anything else. */
export function imageTypeOf(bytes: Buffer): string | null {
  const found = IMAGE_SIGNATURES.find(
    ([, offset, signature]) => bytes.toString('latin1', offset, offset + signature.length) === signature,
  );
  return found?.[0] ?? null;
}

interface Delivered {
  readonly about: { media_type: string; bytes: number; file_id?: string; not_stored?: string };
  /** What to show; null when it is a stored file only. */
  readonly media: Media | null;
}

/** @param store the caller wants a stored file, whatever the size */
export async function deliverMedia(
  api: OwnApi,
  media: Media,
  name: string,
  store = false,
): Promise<Delivered> {
  const about = { media_type: media.mediaType, bytes: media.bytes.length };
  const isSmall = media.bytes.length <= MEDIA_BYTES_MAX;
  if (isSmall && !store) return { about, media };
  try {
    const file_id = await storeFile(api, media, name);
    return { about: { ...about, file_id }, media: isSmall ? media : null };
  } catch (error) {
    // The result is charged already, and the key may lack the permission or the org the quota.
    if (!(error instanceof RefusedCall) || media.bytes.length > UNSTORED_MEDIA_BYTES_MAX) throw error;
    return { about: { ...about, not_stored: `${error.error.code}: ${error.message}` }, media };
  }
}

async function storeFile(api: OwnApi, { bytes, mediaType }: Media, name: string): Promise<string> {
  const extension = mediaType.split('/')[1]?.replace(/[^a-z0-9].*$/, '');
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('expires_after[anchor]', 'created_at');
  form.set('expires_after[seconds]', String(STORED_SECONDS));
  form.set('file', new Blob([new Uint8Array(bytes)], { type: mediaType }), `${name}.${extension}`);
  return (await api.form('/v1/files', form)).id;
}
