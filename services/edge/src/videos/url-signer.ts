// Signs URLs of videos that need no key: HMAC-SHA-256 over the video and the expiry. Such a URL gives access to that one
// video for an hour.
import { randomBytes } from 'node:crypto';
import type { Bucket } from '@switchyard/bus';
import { ServiceError, VIDEO_URL_SECONDS } from '@switchyard/contracts';
import { z } from 'zod';
import { mac, same } from '../auth/signed-token.ts';

/** Key of the bucket `system`. */
const SECRET_KEY = 'url-signing-secret';
const SECRET_BYTES = 32;
const secretRecord = z.object({ secret: z.string().min(SECRET_BYTES), created_at: z.iso.datetime() });

/** Returns the installation's secret; the first edge that needs it creates it. */
export async function ensureUrlSecret(system: Bucket<unknown>, now: number): Promise<string> {
  const entry = await system.change(SECRET_KEY, (existing) =>
    existing
      ? null
      : { secret: randomBytes(SECRET_BYTES).toString('base64url'), created_at: new Date(now).toISOString() },
  );
  return secretRecord.parse(entry?.value).secret;
}

export interface SignedVideo {
  org: string;
  id: string;
}

/** Query of a signed URL; none of it is trusted before the signature is verified. */
export const signedQuery = z.object({
  org: z.string().max(128).optional().describe('Part of the signed URL. Send it unchanged.'),
  expires: z.string().max(16).optional().describe('Part of the signed URL. Send it unchanged.'),
  signature: z.string().max(64).optional().describe('Part of the signed URL. Send it unchanged.'),
});
export type SignedQuery = z.infer<typeof signedQuery>;

export class UrlSigner {
  readonly #secret: string;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(secret: string, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Returns the path and query of a URL that is valid for VIDEO_URL_SECONDS. */
  contentPath({ org, id }: SignedVideo): string {
    const expires = String(Math.floor(this.#now() / 1000) + VIDEO_URL_SECONDS);
    const signature = this.#sign(org, id, expires);
    return `/v1/videos/${id}/content?${new URLSearchParams({ org, expires, signature })}`;
  }

  /** @throws ServiceError `url_not_valid`, `url_expired` */
  verify(id: string, { org, expires, signature }: SignedQuery): SignedVideo {
    if (org === undefined || expires === undefined || signature === undefined)
      throw new ServiceError(
        'url_not_valid',
        'The URL is incomplete. Use it exactly as GET /v1/videos/{id} returns it.',
      );
    if (!same(signature, this.#sign(org, id, expires)))
      throw new ServiceError(
        'url_not_valid',
        'The URL is not valid or was changed. Use it exactly as returned.',
      );
    if (Number(expires) * 1000 <= this.#now())
      throw new ServiceError('url_expired', 'The URL has expired. GET /v1/videos/{id} returns a new one.');
    return { org, id };
  }

  #sign(org: string, id: string, expires: string): string {
    return mac(this.#secret, 'video', `${org}\n${id}\n${expires}`);
  }
}
