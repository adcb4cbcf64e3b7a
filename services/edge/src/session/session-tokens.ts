// Tokens of sessions and of sign-in links, signed by HMAC-SHA-256. A token contains the hash of its key and has that
// key's access, so it ends with the key. Its use is signed too: a sign-in link is no session.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const ID_BYTES = 18;

const tokenContent = z.object({
  id: z.string(),
  /** Hash of the key's secret, as used for lookup. */
  key: z.string(),
  /** Milliseconds since the epoch. */
  expires: z.int(),
});
export type TokenContent = z.infer<typeof tokenContent>;

type TokenUse = 'session' | 'sign-in';

export class SessionTokens {
  readonly #secret: string;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(secret: string, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  sign(use: TokenUse, key: string, lifetimeMs: number): { token: string; content: TokenContent } {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const content = { id, key, expires: this.#now() + lifetimeMs };
    const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
    return { token: `${payload}.${this.#mac(use, payload)}`, content };
  }

  /** Returns null for a token that was not signed here for this use, or has expired. */
  read(use: TokenUse, token: string): TokenContent | null {
    const [payload = '', signature = ''] = token.split('.');
    if (!same(signature, this.#mac(use, payload))) return null;
    const content = tokenContent.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    return content.expires > this.#now() ? content : null;
  }

  /** The token against cross-site requests of a session. */
  csrfOf({ id }: TokenContent): string {
    return this.#mac('csrf', id);
  }

  #mac(use: TokenUse | 'csrf', text: string): string {
    return createHmac('sha256', this.#secret).update(`console-${use}\n${text}`).digest('base64url');
  }
}

/** Compares secrets in constant time. */
export function same(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
