// Tokens of sessions and of sign-in links. A token contains the hash of its key and has that key's access, so it ends
// with the key. A sign-in link is no session.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { mac, readToken, signToken } from '../auth/signed-token.ts';

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
    return { token: signToken(this.#secret, `console-${use}`, content), content };
  }

  /** Returns null for a token that was not signed here for this use, or has expired. */
  read(use: TokenUse, token: string): TokenContent | null {
    const content = readToken(this.#secret, `console-${use}`, token, tokenContent);
    return content && content.expires > this.#now() ? content : null;
  }

  /** The token against cross-site requests of a session. */
  csrfOf({ id }: TokenContent): string {
    return mac(this.#secret, 'console-csrf', id);
  }
}
