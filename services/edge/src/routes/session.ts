// /v1/session: a browser exchanges an API key, or a sign-in link, for a session in a cookie that no page can read.
import {
  CSRF_HEADER,
  createSessionRequest,
  endedSession,
  type KeyRecord,
  SESSION_HOURS,
  ServiceError,
  type SessionObject,
  type SignInLink,
  sessionObject,
  signInLink,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AuthenticateHash, hashOfKey } from '../auth/authenticate.ts';
import { publicOrigin } from '../http/host-header.ts';
import { parseBody } from '../http/read-body.ts';
import { publicRoute, type Route, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { type OpenSession, requireCsrf, SESSION_COOKIE, type Sessions } from '../session/sessions.ts';

const TAG = 'Session';
const SESSION_S = SESSION_HOURS * 3_600;
const KEY_ERRORS = ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'org_suspended'] as const;

interface SessionRoutesDeps {
  readonly sessions: Sessions;
  readonly authenticateHash: AuthenticateHash;
  /** Public base URL; undefined: use the origin of the request. */
  readonly publicUrl: string | undefined;
}

export function sessionRoutes(deps: SessionRoutesDeps): Route[] {
  return [signInRoute(deps), currentSessionRoute(deps), signOutRoute(deps), signInLinkRoute(deps)];
}

function signInRoute(deps: SessionRoutesDeps): Route {
  return publicRoute(
    {
      method: 'POST',
      path: '/v1/session',
      operationId: 'createSession',
      tag: TAG,
      summary: 'Sign a browser in, with an API key as Bearer or with the token of a sign-in link',
      description: `The session is an HttpOnly cookie and lasts ${SESSION_HOURS} hours, at most as long as its key. Without \`Authorization\` the body has the token.`,
      request: { body: createSessionRequest.optional() },
      response: { status: 201, description: 'The session', body: sessionObject },
      errors: [
        ...KEY_ERRORS,
        'invalid_json',
        'invalid_request',
        'unknown_field',
        'url_not_valid',
        'rate_limited',
        'service_unavailable',
      ],
    },
    async (request, reply) => {
      const { authorization } = request.headers;
      const keyHash =
        authorization === undefined
          ? await deps.sessions.redeem(parseBody(createSessionRequest, request.body).token)
          : hashOfKey(authorization);
      const key = await deps.authenticateHash(keyHash);
      const session = deps.sessions.begin(keyHash);
      setCookie(deps, request, reply, session.token, SESSION_S);
      sendSession(reply, session, key, 201);
    },
  );
}

function currentSessionRoute({ sessions }: SessionRoutesDeps): Route {
  return publicRoute(
    {
      method: 'GET',
      path: '/v1/session',
      operationId: 'getSession',
      tag: TAG,
      summary: 'The session of the cookie and its CSRF token, after a page reload',
      description: 'Needs any value of `X-Switchyard-Csrf`, a header that only our own pages can send.',
      response: { status: 200, description: 'The session', body: sessionObject },
      errors: [...KEY_ERRORS, 'csrf_token_invalid'],
    },
    async (request, reply) => {
      if (request.headers[CSRF_HEADER] === undefined)
        throw new ServiceError('csrf_token_invalid', 'No X-Switchyard-Csrf. Send it with any value.');
      const session = sessionOf(sessions, request);
      sendSession(reply, session, await sessions.keyOf(session));
    },
  );
}

function signOutRoute(deps: SessionRoutesDeps): Route {
  return publicRoute(
    {
      method: 'DELETE',
      path: '/v1/session',
      operationId: 'deleteSession',
      tag: TAG,
      summary: 'Sign out: the cookie is refused from now on',
      response: { status: 200, description: 'The session has ended', body: endedSession },
      errors: ['missing_api_key', 'csrf_token_invalid', 'rate_limited', 'service_unavailable'],
    },
    async (request, reply) => {
      const session = sessionOf(deps.sessions, request);
      requireCsrf(session, request.headers);
      await deps.sessions.end(session);
      setCookie(deps, request, reply, '', 0);
      sendJson(reply, { object: 'session', deleted: true });
    },
  );
}

function signInLinkRoute({ sessions, publicUrl }: SessionRoutesDeps): Route {
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/session/links',
      operationId: 'createSignInLink',
      permission: 'any',
      tag: TAG,
      summary: 'A link that signs a browser in to the console as your key, once and within ten minutes',
      response: { status: 201, description: 'The link', body: signInLink },
      errors: [],
    },
    (request, reply) => {
      // Needs the key: a session's link would outlive its sign-out.
      const { token, expires } = sessions.signInToken(hashOfKey(request.headers.authorization));
      const url = `${publicOrigin(publicUrl, request)}/sign-in?token=${token}`;
      const expires_at = new Date(expires).toISOString();
      sendJson(reply, { object: 'session.sign_in_link', url, expires_at } satisfies SignInLink, 201);
    },
  );
}

function sessionOf(sessions: Sessions, { headers }: FastifyRequest): OpenSession {
  const session = sessions.of(headers);
  if (!session) throw new ServiceError('missing_api_key', 'No session. Sign in by POST /v1/session.');
  return session;
}

function sendSession(reply: FastifyReply, session: OpenSession, key: KeyRecord, status = 200): void {
  const body: SessionObject = {
    object: 'session',
    csrf_token: session.csrfToken,
    expires_at: new Date(session.content.expires).toISOString(),
    org: key.org,
    key: { id: key.id, name: key.name, permissions: key.permissions },
  };
  reply.header('cache-control', 'no-store');
  sendJson(reply, body, status);
}

function setCookie(
  { publicUrl }: SessionRoutesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
  maxAgeS: number,
): void {
  const secure = publicOrigin(publicUrl, request).startsWith('https:') ? '; Secure' : '';
  reply.header(
    'set-cookie',
    `${SESSION_COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeS}${secure}`,
  );
}
