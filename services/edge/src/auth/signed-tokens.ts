// Tokens that carry their content until they expire, signed by HMAC-SHA-256. The purpose is signed too, so that a token
// of one purpose is invalid for others.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';

export interface Signing {
  readonly secret: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Milliseconds since the epoch. */
const expiry = z.object({ expires: z.int() });
export type Expiring = z.infer<typeof expiry>;

export class SignedTokens<T extends object> {
  readonly #signing: Signing;
  readonly #purpose: string;
  readonly #content: z.ZodType<T & Expiring>;

  constructor(signing: Signing, purpose: string, content: z.ZodType<T>) {
    this.#signing = signing;
    this.#purpose = purpose;
    this.#content = content.and(expiry);
  }

  /** Returns the token, which is one path segment. It is the same within a second. */
  sign(content: T, lifetimeMs: number): { token: string } & Expiring {
    const { secret, now } = this.#signing;
    const expires = Math.floor(now() / 1_000) * 1_000 + lifetimeMs;
    const payload = Buffer.from(JSON.stringify({ ...content, expires })).toString('base64url');
    return { token: `${payload}.${mac(secret, this.#purpose, payload)}`, expires };
  }

  /** Returns null for a token that was not signed here for this purpose, or has expired. */
  read(token: string): (T & Expiring) | null {
    const content = this.#contentOf(token);
    return content && content.expires > this.#signing.now() ? content : null;
  }

  /**
   * The content of an address's token.
   * @param renew says how to get another address
   * @throws ServiceError `url_not_valid`, `url_expired`
   */
  readUrl(token: string, renew: string): T {
    const content = this.#contentOf(token);
    if (!content) throw urlNotValid();
    if (content.expires <= this.#signing.now())
      throw new ServiceError('url_expired', `The URL has expired. ${renew} returns a new one.`);
    return content;
  }

  #contentOf(token: string): (T & Expiring) | null {
    const [payload = '', signature = ''] = token.split('.');
    if (!same(signature, mac(this.#signing.secret, this.#purpose, payload))) return null;
    return this.#content.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  }
}

export function urlNotValid(): ServiceError {
  return new ServiceError(
    'url_not_valid',
    'The URL is not valid or was changed. Use it exactly as returned.',
  );
}

/** The signature of a text, in base64url. */
export function mac(secret: string, purpose: string, text: string): string {
  return createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('base64url');
}

/** Compares secrets in constant time. */
export function same(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
