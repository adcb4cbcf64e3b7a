// Addresses of videos that need no key: signed by HMAC-SHA-256 over what they lead to and until when, so that whoever has
// one may fetch that video for an hour, and nothing else.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Bucket, RevisionConflict } from '@switchyard/bus';
import { ServiceError, VIDEO_URL_SECONDS } from '@switchyard/contracts';
import { z } from 'zod';

/** Key of the bucket `system`. */
const SECRET_KEY = 'url-signing-secret';
const SECRET_BYTES = 32;
const secretRecord = z.object({ secret: z.string().min(SECRET_BYTES), created_at: z.iso.datetime() });

/** The installation's secret: made by whichever edge needs it first. */
export async function ensureUrlSecret(system: Bucket<unknown>, now: number): Promise<string> {
  const known = await system.get(SECRET_KEY);
  if (known) return secretRecord.parse(known.value).secret;
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  try {
    await system.create(SECRET_KEY, { secret, created_at: new Date(now).toISOString() });
    return secret;
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    return secretRecord.parse((await system.get(SECRET_KEY))?.value).secret; // another edge was faster
  }
}

export interface SignedVideo {
  org: string;
  id: string;
}

/** What an address says beside its path; nothing of it is believed before the signature is. */
export const signedQuery = z.object({
  org: z.string().max(128).optional().describe('Part of the address as it was given'),
  expires: z.string().max(16).optional().describe('Part of the address as it was given'),
  signature: z.string().max(64).optional().describe('Part of the address as it was given'),
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

  /** The path and query of an address that lives for VIDEO_URL_SECONDS. */
  contentPath({ org, id }: SignedVideo): string {
    const expires = String(Math.floor(this.#now() / 1000) + VIDEO_URL_SECONDS);
    const signature = this.#sign(org, id, expires).toString('base64url');
    return `/v1/videos/${id}/content?${new URLSearchParams({ org, expires, signature })}`;
  }

  /** @throws ServiceError `url_not_valid`, `url_expired` */
  verify(id: string, { org, expires, signature }: SignedQuery): SignedVideo {
    if (org === undefined || expires === undefined || signature === undefined)
      throw new ServiceError(
        'url_not_valid',
        'the address is not whole: take it as GET /v1/videos/{id} gives it',
      );
    const given = Buffer.from(signature, 'base64url');
    const right = this.#sign(org, id, expires);
    if (given.length !== right.length || !timingSafeEqual(given, right))
      throw new ServiceError('url_not_valid', 'the address was not signed here, or was changed');
    if (Number(expires) * 1000 <= this.#now())
      throw new ServiceError('url_expired', 'the address has expired: GET /v1/videos/{id} gives another one');
    return { org, id };
  }

  #sign(org: string, id: string, expires: string): Buffer {
    return createHmac('sha256', this.#secret).update(`video\n${org}\n${id}\n${expires}`).digest();
  }
}
