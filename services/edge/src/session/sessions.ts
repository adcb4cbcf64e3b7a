// Sessions of the console. The cookie holds a signed token instead of the key; signing out, or using a sign-in link,
// spends the token for all edges. Every request resolves the session to its key, so it ends with the key.
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  CSRF_HEADER,
  type KeyRecord,
  SESSION_HOURS,
  ServiceError,
  SIGN_IN_LINK_MINUTES,
} from '@switchyard/contracts';
import { z } from 'zod';
import { type AuthenticateHash, hashOfKey } from '../auth/authenticate.ts';
import type { KeysByHash } from '../auth/keys-by-hash.ts';
import { type Expiring, mac, SignedTokens, same } from '../auth/signed-tokens.ts';
import type { SpentTokens } from './spent-tokens.ts';

export const SESSION_COOKIE = 'switchyard_session';
const SESSION_MS = SESSION_HOURS * 3_600_000;
const SIGN_IN_MS = SIGN_IN_LINK_MINUTES * 60_000;
const ID_BYTES = 18;

/** A token has the access of its key, so it ends with the key. */
const tokenContent = z.object({
  id: z.string(),
  /** Hash of the key's secret, as used for lookup. */
  key: z.string(),
});
type TokenContent = z.infer<typeof tokenContent>;

interface SessionsDeps {
  /** Signs the tokens. */
  readonly secret: string;
  readonly spent: SpentTokens;
  readonly keys: Pick<KeysByHash, 'lookup'>;
  readonly authenticateHash: AuthenticateHash;
  readonly now: () => number;
}

export interface OpenSession {
  readonly content: TokenContent & Expiring;
  readonly csrfToken: string;
}

export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #sessions: SignedTokens<TokenContent>;
  /** A sign-in link is no session. */
  readonly #links: SignedTokens<TokenContent>;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#sessions = new SignedTokens(deps, 'console-session', tokenContent);
    this.#links = new SignedTokens(deps, 'console-sign-in', tokenContent);
  }

  /** Authenticates by the Authorization header, else by the session cookie with its CSRF token. */
  readonly authenticate = (headers: IncomingHttpHeaders): KeyRecord | Promise<KeyRecord> => {
    const session = headers.authorization === undefined ? this.of(headers) : null;
    if (session) requireCsrf(session, headers);
    return this.#deps.authenticateHash(this.callerHash(headers));
  };

  /** Hash of the caller's key. @throws ServiceError as `hashOfKey` */
  readonly callerHash = (headers: IncomingHttpHeaders): string => {
    const session = headers.authorization === undefined ? this.of(headers) : null;
    return session ? session.content.key : hashOfKey(headers.authorization);
  };

  /** The session of a request's cookie; null without a valid one. A WebSocket has none: it takes a link. */
  of(headers: IncomingHttpHeaders): OpenSession | null {
    if (headers.upgrade !== undefined || isForeign(headers)) return null;
    for (const token of cookiesOf(headers.cookie)) {
      const content = this.#sessions.read(token);
      if (content && !this.#deps.spent.has(content.id)) return this.#opened(content);
    }
    return null;
  }

  /** @throws ServiceError when the key was revoked or has expired */
  keyOf({ content }: OpenSession): KeyRecord | Promise<KeyRecord> {
    return this.#deps.authenticateHash(content.key);
  }

  begin(keyHash: string): OpenSession & { token: string } {
    const content = { id: newId(), key: keyHash };
    const { token, expires } = this.#sessions.sign(content, SESSION_MS);
    return { token, ...this.#opened({ ...content, expires }) };
  }

  /** Signs out: the cookie is refused by every edge. */
  async end({ content }: OpenSession): Promise<void> {
    await this.#spend(content);
  }

  signInToken(keyHash: string): { token: string } & Expiring {
    return this.#links.sign({ id: newId(), key: keyHash }, SIGN_IN_MS);
  }

  /**
   * Returns the hash of the key that a sign-in link acts as.
   * @throws ServiceError `url_not_valid` for a link that was used, has expired or was not made here
   */
  async redeem(token: string): Promise<string> {
    const content = this.#links.read(token);
    if (!content || !(await this.#spend(content)))
      throw new ServiceError('url_not_valid', 'The sign-in link was used or has expired. Get a new one.');
    return content.key;
  }

  #opened(content: OpenSession['content']): OpenSession {
    return { content, csrfToken: mac(this.#deps.secret, 'console-csrf', content.id) };
  }

  /** False: it was spent before. */
  async #spend({ id, key }: TokenContent): Promise<boolean> {
    const record = await this.#deps.keys.lookup(key);
    return record === null || this.#deps.spent.spend(id, record.org); // without its key the token is of no use
  }
}

function newId(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}

/** @throws ServiceError `csrf_token_invalid` */
export function requireCsrf({ csrfToken }: OpenSession, headers: IncomingHttpHeaders): void {
  const given = headers[CSRF_HEADER];
  if (typeof given !== 'string' || !same(given, csrfToken))
    throw new ServiceError('csrf_token_invalid', 'CSRF check failed. Send csrf_token as X-Switchyard-Csrf.');
}

/** Whether the browser says that the request comes from a page of another origin, such as one in a computer. */
function isForeign(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/** Another server on this host may have set a cookie of the same name: all are tried. */
function cookiesOf(cookie = ''): string[] {
  return cookie
    .split(/; */)
    .filter((part) => part.startsWith(`${SESSION_COOKIE}=`))
    .map((part) => part.slice(SESSION_COOKIE.length + 1));
}
