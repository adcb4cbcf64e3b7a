// Links: temporary addresses without a key for one port, or the terminals, of a computer. A link contains the hash of
// the key that created it and has that key's access, so it ends with the key.
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import { readToken, signToken } from '../auth/signed-token.ts';

const PURPOSE = 'computer-link';

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
    const token = signToken(this.#secret, PURPOSE, { ...target, expires } satisfies LinkTarget);
    return { token, expiresAt: new Date(expires * 1000) };
  }

  /** @throws ServiceError `url_not_valid`, `url_expired` */
  verify(token: string): LinkTarget {
    const target = readToken(this.#secret, PURPOSE, token, linkTarget);
    if (!target)
      throw new ServiceError(
        'url_not_valid',
        'The link is not valid or was changed. Use it exactly as returned.',
      );
    if (target.expires * 1000 <= this.#now())
      throw new ServiceError(
        'url_expired',
        'The link has expired. POST /v1/computers/{id}/links creates a new one.',
      );
    return target;
  }
}
