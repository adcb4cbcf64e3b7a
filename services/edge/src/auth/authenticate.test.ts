// Authentication by the secrets of a key, on two edges and a real nats-server, with a clock that the test controls.
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

const MINUTE_MS = 60_000;
let edge: TestEdge;
let urls: string[];

beforeAll(async () => {
  edge = await startTestEdge();
  urls = [edge.url, await edge.another()];
});
afterAll(() => edge?.stop());

/** What both edges answer: a request that fails in its body has a known key. */
const answersTo = (secret: string) =>
  Promise.all(
    urls.map(async (url) => {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}/v1/embeddings`, { method: 'POST', headers, body: '{' });
      return ((await response.json()) as { error: { code: string; message: string } }).error;
    }),
  );
const both = (error: object) => [error, error].map((one) => expect.objectContaining(one));
const KNOWN = both({ code: 'invalid_json' });

test('a key that was created a moment ago works on every edge, and a guessed one on none', async () => {
  for (let i = 0; i < 20; i++) {
    const [answers, guessed] = await Promise.all([answersTo(await edge.addKey()), answersTo(`guess-${i}`)]);
    expect(answers).toEqual(KNOWN);
    expect(guessed).toEqual(both({ code: 'invalid_api_key' }));
  }
});

test('a former secret works until its grace period ends, at most as long as its key', async () => {
  const at = (ms: number) => new Date(edge.clock.now() + ms).toISOString();
  const secretOf = (name: string, until: string | null) => ({ hash: hash('sha256', name), until });
  const until = at(10 * MINUTE_MS);
  await edge.addKey(undefined, { secrets: [secretOf('current', null), secretOf('former', until)] });
  await edge.addKey(undefined, {
    expires_at: at(5 * MINUTE_MS),
    secrets: [secretOf('short', null), secretOf('former-short', until)],
  });
  for (const secret of ['current', 'former', 'short', 'former-short'])
    expect(await answersTo(secret)).toEqual(KNOWN);
  edge.clock.advance(5 * MINUTE_MS);
  expect(await answersTo('former')).toEqual(KNOWN);
  for (const secret of ['short', 'former-short'])
    expect(await answersTo(secret)).toEqual(both({ code: 'expired_api_key' }));
  edge.clock.advance(5 * MINUTE_MS);
  expect(await answersTo('former')).toEqual(
    both({ code: 'invalid_api_key', message: `The API key was replaced at ${until}. Use its new secret.` }),
  );
  expect(await answersTo('current')).toEqual(KNOWN);
});
