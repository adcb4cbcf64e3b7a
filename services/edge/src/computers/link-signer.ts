// Links: temporary addresses without a key for one port, or the terminals, of a computer, signed by HMAC-SHA-256. A
// link contains the hash of the key that created it and has that key's access, so it ends with the key.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';

const linkTarget = z.object({
  /** Hash of the key's secret, as used for lookup. */
  key: z.string(),
  computer: z.string(),
  /** Null for the terminals. */
  port: z.int().nullable(),
  /** Seconds since the epoch. */
  expires: z.int(),
});
type LinkTarget = z.infer<typeof linkTarget>;

export class LinkSigner {
  readonly #secret: string;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(secret: string, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Creates the link's token, which is one path segment. */
  sign(target: Omit<LinkTarget, 'expires'>, minutes: number): { token: string; expiresAt: Date } {
    const expires = Math.floor(this.#now() / 1000) + minutes * 60;
    const payload = Buffer.from(JSON.stringify({ ...target, expires } satisfies LinkTarget)).toString(
      'base64url',
    );
    const token = `${payload}.${this.#signature(payload).toString('base64url')}`;
    return { token, expiresAt: new Date(expires * 1000) };
  }

  /** @throws ServiceError `url_not_valid`, `url_expired` */
  verify(token: string): LinkTarget {
    const [payload = '', signature = ''] = token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const right = this.#signature(payload);
    if (given.length !== right.length || !timingSafeEqual(given, right))
      throw new ServiceError(
        'url_not_valid',
        'The link is not valid or was changed. Use it exactly as returned.',
      );
    const target = linkTarget.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    if (target.expires * 1000 <= this.#now())
      throw new ServiceError(
        'url_expired',
        'The link has expired. POST /v1/computers/{id}/links creates a new one.',
      );
    return target;
  }

  #signature(payload: string): Buffer {
    return createHmac('sha256', this.#secret).update(`computer-link\n${payload}`).digest();
  }
}
