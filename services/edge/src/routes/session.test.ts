// Sessions of the console: a browser acts with a key that it does not have, which only the console's pages can do.
import { createHmac } from 'node:crypto';
import { openBucket } from '@switchyard/bus';
import { CSRF_HEADER, SESSION_HOURS, type SessionObject, SIGN_IN_LINK_MINUTES } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { SPENT_TOKENS_PER_ORG_MAX } from '../session/spent-tokens.ts';

/** Few enough for each to be stored in time. */
const WRITES_AT_ONCE = 100;

let edge: TestEdge;
beforeAll(async () => {
  edge = await startTestEdge();
});
afterAll(() => edge?.stop());

type Headers = Record<string, string>;

async function call(method: string, path: string, headers: Headers = {}, body?: unknown) {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await fetch(edge.url + path, {
    method,
    headers: { ...json, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, json: await answer.json() };
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const codeOf = async (answer: ReturnType<typeof call>) =>
  ((await answer).json as { error?: { code: string } }).error?.code;

async function signInToken(secret: string): Promise<string> {
  const { json } = await call('POST', '/v1/session/links', bearer(secret));
  const { url } = json as { url: string };
  expect(url).toMatch(`${edge.url}/sign-in?token=`);
  return new URL(url).searchParams.get('token') as string;
}

const redeem = (token: string) => call('POST', '/v1/session', {}, { token });

async function signIn(secret: string) {
  const { status, headers, json } = await call('POST', '/v1/session', bearer(secret));
  expect(status).toBe(201);
  const session = json as SessionObject;
  const setCookie = headers.get('set-cookie') ?? '';
  const cookie = { cookie: setCookie.split(';')[0] as string };
  return { session, setCookie, cookie, both: { ...cookie, [CSRF_HEADER]: session.csrf_token } };
}

test('a key is exchanged for a cookie that pages cannot read and other sites cannot send', async () => {
  const { session, setCookie, both } = await signIn(await edge.addKey(['usage:read']));
  expect(setCookie).toMatch(
    /^switchyard_session=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  expect(session.key.permissions).toEqual(['usage:read']);
  expect((await call('GET', '/v1/models', both)).status).not.toBe(401);
  expect(await codeOf(call('GET', '/v1/keys', both))).toBe('permission_denied');
});

test('the cookie alone is refused for every method, also with the token of another session', async () => {
  const { cookie } = await signIn(await edge.addKey());
  const other = await signIn(await edge.addKey());
  for (const [method, path] of [
    ['GET', '/v1/models'],
    ['GET', '/v1/events'],
    ['POST', '/v1/keys'],
    ['DELETE', '/v1/session'],
  ] as const)
    for (const headers of [
      cookie,
      { ...cookie, [CSRF_HEADER]: '' },
      { ...cookie, [CSRF_HEADER]: other.session.csrf_token },
    ])
      expect(await codeOf(call(method, path, headers))).toBe('csrf_token_invalid');
  expect(await codeOf(call('GET', '/v1/session', cookie))).toBe('csrf_token_invalid');
});

test('a request that the browser marks as cross-origin has no session', async () => {
  const { both } = await signIn(await edge.addKey());
  const foreign = async (site: string) =>
    codeOf(call('GET', '/v1/models', { ...both, 'sec-fetch-site': site }));
  // undici does not overwrite a given Sec-Fetch-Site
  expect(await foreign('cross-site')).toBe('missing_api_key');
  expect(await foreign('same-site')).toBe('missing_api_key');
  expect(await foreign('same-origin')).not.toBe('missing_api_key');
});

test('a reload finds the session again by the cookie', async () => {
  const { cookie, session } = await signIn(await edge.addKey());
  const again = await call('GET', '/v1/session', { ...cookie, [CSRF_HEADER]: '?' });
  expect(again.json).toEqual(session);
  expect(await codeOf(call('GET', '/v1/session', { [CSRF_HEADER]: '?' }))).toBe('missing_api_key');
});

test('a session ends with its key or after its hours, and follows its permissions', async () => {
  const secret = await edge.addKey(['models:write']);
  const { both } = await signIn(secret);
  const code = () => codeOf(call('GET', '/v1/events?type=none.such', both));
  expect(await code()).toBe('permission_denied');
  await edge.changeKey(secret, { permissions: ['usage:read'] });
  await expect.poll(code).toBe('invalid_request');
  await edge.changeKey(secret, { expires_at: new Date(edge.clock.now() - 1).toISOString() });
  await expect.poll(code).toBe('expired_api_key');
  const late = await signIn(await edge.addKey());
  edge.clock.advance(SESSION_HOURS * 3_600_000);
  expect(await codeOf(call('GET', '/v1/models', late.both))).toBe('missing_api_key');
});

test('after signing out the cookie is refused', async () => {
  const { both } = await signIn(await edge.addKey());
  const out = await call('DELETE', '/v1/session', both);
  expect(out.json).toEqual({ object: 'session', deleted: true });
  expect(out.headers.get('set-cookie')).toMatch(/^switchyard_session=; .*Max-Age=0$/);
  await expect.poll(() => codeOf(call('GET', '/v1/session', both))).toBe('missing_api_key');
});

test('a sign-in link works once, for ten minutes, and only a key makes one', async () => {
  const secret = await edge.addKey();
  const token = await signInToken(secret);
  const uses = await Promise.all([redeem(token), redeem(token), redeem(token)]);
  expect(uses.map(({ status }) => status).sort()).toEqual([201, 403, 403]);
  const late = await signInToken(secret);
  edge.clock.advance(SIGN_IN_LINK_MINUTES * 60_000);
  expect(await codeOf(redeem(late))).toBe('url_not_valid');
  const { both, cookie } = await signIn(secret);
  expect(await codeOf(call('POST', '/v1/session/links', both))).toBe('missing_api_key');
  expect(await codeOf(redeem(cookie.cookie.split('=')[1] as string))).toBe('url_not_valid'); // a session is no link
});

test('ignores a cookie signed by another installation, and prefers Authorization to a cookie', async () => {
  const payload = Buffer.from(JSON.stringify({ id: 'x', key: 'x', expires: 9e15 })).toString('base64url');
  const signature = createHmac('sha256', 'guess').update(payload).digest('base64url');
  const forged = { cookie: `switchyard_session=${payload}.${signature}` };
  expect(await codeOf(call('GET', '/v1/models', forged))).toBe('missing_api_key');
  const { both } = await signIn(await edge.addKey());
  expect(await codeOf(call('GET', '/v1/models', { ...both, ...bearer('wrong') }))).toBe('invalid_api_key');
});

test('an org can end a bounded number of sessions and links, and others are unaffected', async () => {
  const spent = await openBucket(edge.bus, 'spent-tokens');
  const token = { at: new Date(edge.clock.now()).toISOString(), org: 'org_busy' };
  for (let from = 0; from < SPENT_TOKENS_PER_ORG_MAX; from += WRITES_AT_ONCE)
    await Promise.all(Array.from({ length: WRITES_AT_ONCE }, (_, n) => spent.put(`busy_${from + n}`, token)));
  const busy = await edge.addKey(undefined, { org: 'org_busy' });
  const { both } = await signIn(busy);
  await expect.poll(async () => codeOf(redeem(await signInToken(busy)))).toBe('rate_limited');
  const refused = await call('DELETE', '/v1/session', both);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, String(SESSION_HOURS * 3_600)]);
  const other = await signIn(await edge.addKey());
  expect((await call('DELETE', '/v1/session', other.both)).status).toBe(200);
  edge.clock.advance(SESSION_HOURS * 3_600_000);
  const later = await signIn(busy);
  expect((await call('DELETE', '/v1/session', later.both)).status).toBe(200);
});
