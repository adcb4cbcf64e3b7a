// Sessions of the console. The cookie holds a signed token instead of the key; signing out, or using a sign-in link,
// spends the token for all edges. Every request resolves the session to its key, so it ends with the key.
import type { IncomingHttpHeaders } from 'node:http';
import type { Mirror } from '@switchyard/bus';
import {
  CSRF_HEADER,
  type KeyRecord,
  SESSION_HOURS,
  ServiceError,
  SIGN_IN_LINK_MINUTES,
} from '@switchyard/contracts';
import { type Authenticate, type AuthenticateHash, hashOfKey } from '../auth/authenticate.ts';
import { same } from '../auth/signed-token.ts';
import type { SessionTokens, TokenContent } from './session-tokens.ts';
import type { SpentTokens } from './spent-tokens.ts';

export const SESSION_COOKIE = 'switchyard_session';
const SESSION_MS = SESSION_HOURS * 3_600_000;
const SIGN_IN_MS = SIGN_IN_LINK_MINUTES * 60_000;

interface SessionsDeps {
  readonly tokens: SessionTokens;
  readonly spent: SpentTokens;
  readonly keys: Pick<Mirror<KeyRecord>, 'lookup'>;
  readonly authenticate: Authenticate;
  readonly authenticateHash: AuthenticateHash;
  readonly now: () => number;
}

export interface OpenSession {
  readonly content: TokenContent;
  readonly csrfToken: string;
}

export class Sessions {
  readonly #deps: SessionsDeps;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** Authenticates by the Authorization header, else by the session cookie with its CSRF token. */
  readonly authenticate = (headers: IncomingHttpHeaders): KeyRecord | Promise<KeyRecord> => {
    const session = headers.authorization === undefined ? this.of(headers) : null;
    if (!session) return this.#deps.authenticate(headers.authorization);
    requireCsrf(session, headers);
    return this.keyOf(session);
  };

  /** Hash of the caller's key, for links that act as it. The caller is authenticated. */
  readonly callerHash = (headers: IncomingHttpHeaders): string => {
    const session = headers.authorization === undefined ? this.of(headers) : null;
    return session ? session.content.key : hashOfKey(headers.authorization);
  };

  /** The session of a request's cookie; null without a valid one. A WebSocket has none: it takes a link. */
  of(headers: IncomingHttpHeaders): OpenSession | null {
    if (headers.upgrade !== undefined || isForeign(headers)) return null;
    const { tokens, spent } = this.#deps;
    for (const token of cookiesOf(headers.cookie)) {
      const content = tokens.read('session', token);
      if (content && !spent.has(content.id)) return { content, csrfToken: tokens.csrfOf(content) };
    }
    return null;
  }

  /** @throws ServiceError when the key was revoked or has expired */
  keyOf({ content }: OpenSession): KeyRecord | Promise<KeyRecord> {
    return this.#deps.authenticateHash(content.key);
  }

  begin(keyHash: string): OpenSession & { token: string } {
    const { token, content } = this.#deps.tokens.sign('session', keyHash, SESSION_MS);
    return { token, content, csrfToken: this.#deps.tokens.csrfOf(content) };
  }

  /** Signs out: the cookie is refused by every edge. */
  async end({ content }: OpenSession): Promise<void> {
    await this.#spend(content);
  }

  signInToken(keyHash: string): { token: string; expires: number } {
    const { token, content } = this.#deps.tokens.sign('sign-in', keyHash, SIGN_IN_MS);
    return { token, expires: content.expires };
  }

  /**
   * Returns the hash of the key that a sign-in link acts as.
   * @throws ServiceError `url_not_valid` for a link that was used, has expired or was not made here
   */
  async redeem(token: string): Promise<string> {
    const content = this.#deps.tokens.read('sign-in', token);
    if (!content || !(await this.#spend(content)))
      throw new ServiceError('url_not_valid', 'the sign-in link was used or has expired: make another one');
    return content.key;
  }

  /** False: it was spent before. */
  async #spend({ id, key }: TokenContent): Promise<boolean> {
    const record = await this.#deps.keys.lookup(key);
    return record === null || this.#deps.spent.spend(id, record.org); // without its key the token is of no use
  }
}

/** @throws ServiceError `csrf_token_invalid` */
export function requireCsrf({ csrfToken }: OpenSession, headers: IncomingHttpHeaders): void {
  const given = headers[CSRF_HEADER];
  if (typeof given !== 'string' || !same(given, csrfToken))
    throw new ServiceError('csrf_token_invalid', 'send the session’s csrf_token as X-Switchyard-Csrf');
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
