// Links: addresses that need no key, of one port or the terminals of one computer, for a while. Signed by HMAC-SHA-256. A
// link names the key that made it by its hash and can do what that key can, so it ends when the key does.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';

const linkTarget = z.object({
  /** Hash of the key's secret, as keys are looked up. */
  key: z.string(),
  computer: z.string(),
  /** Null: its terminals. */
  port: z.int().nullable(),
  /** Seconds since the epoch. */
  expires: z.int(),
});
export type LinkTarget = z.infer<typeof linkTarget>;

export class LinkSigner {
  readonly #secret: string;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(secret: string, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** The link's token: a segment of a path. */
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
      throw new ServiceError('url_not_valid', 'the link was not signed here, or was changed');
    const target = linkTarget.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    if (target.expires * 1000 <= this.#now())
      throw new ServiceError(
        'url_expired',
        'the link has expired: POST /v1/computers/{id}/links gives another one',
      );
    return target;
  }

  #signature(payload: string): Buffer {
    return createHmac('sha256', this.#secret).update(`computer-link\n${payload}`).digest();
  }
}
