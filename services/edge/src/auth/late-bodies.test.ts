// A body may take minutes to arrive. Its request runs only if the key may still use the route at the end of the body.
import { hash, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { openBucket } from '@switchyard/bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;

beforeAll(async () => {
  edge = await startTestEdge();
});
afterAll(() => edge?.stop());

/**
 * Sends a request up to the last byte of its body, and resolves when it is admitted; `end` sends that byte and returns the
 * answer.
 */
async function post(path: string, secret: string, body: object) {
  const id = randomUUID();
  const text = JSON.stringify(body);
  const socket = connect(edge.port, '127.0.0.1').setEncoding('utf8');
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\ncontent-type: application/json\r\nconnection: close\r\nidempotency-key: ${id}\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, -1)}`,
  );
  const reserved = await openBucket(edge.bus, 'idempotency');
  await expect.poll(() => reserved.entries(`*.${hash('sha256', id)}`)).toHaveLength(1);
  return {
    async end(): Promise<string> {
      socket.write(text.slice(-1));
      return (await socket.toArray()).join('');
    },
  };
}

const refusedWith = (secret: string) => async () =>
  (
    (await (
      await fetch(`${edge.url}/v1/keys`, { headers: { authorization: `Bearer ${secret}` } })
    ).json()) as { error?: { code: string } }
  ).error?.code;

const KEY = { name: 'late', permissions: ['usage:read'] };

test('a request whose key expires before its body ends is refused', async () => {
  const secret = await edge.addKey();
  const request = await post('/v1/keys', secret, KEY);
  await edge.changeKey(secret, { expires_at: new Date(edge.clock.now() - 1).toISOString() });
  await expect.poll(refusedWith(secret)).toBe('expired_api_key');
  expect(await request.end()).toContain('expired_api_key');
});

test('a key whose org has no record is unknown, also before its body ends', async () => {
  const org = 'org_gone';
  const secret = await edge.addKey(undefined, { org });
  const request = await post('/v1/webhooks', secret, { url: 'https://example.com/', events: ['*'] });
  await edge.orgs.delete(org);
  await expect.poll(refusedWith(secret)).toBe('invalid_api_key');
  expect(await request.end()).toContain('invalid_api_key');
});

test('a request whose org is suspended before its body ends is refused', async () => {
  const org = 'org_late';
  const secret = await edge.addKey(undefined, { org });
  const request = await post('/v1/webhooks', secret, { url: 'https://example.com/', events: ['*'] });
  const suspended_at = new Date(edge.clock.now()).toISOString();
  await edge.orgs.change(org, (known) => known && { ...known.value, suspended_at });
  await expect.poll(refusedWith(secret)).toBe('org_suspended');
  expect(await request.end()).toContain('org_suspended');
});

test('a transcription whose org is suspended while its audio arrives does not begin', async () => {
  const org = 'org_audio';
  const secret = await edge.addKey(undefined, { org });
  const audio = { model: 'local/transcribe', audio: 'UklGRiQAAABXQVZF', media_type: 'audio/wav' };
  const request = await post('/v1/audio/transcriptions', secret, audio);
  const suspended_at = new Date(edge.clock.now()).toISOString();
  await edge.orgs.change(org, (known) => known && { ...known.value, suspended_at });
  await expect.poll(refusedWith(secret)).toBe('org_suspended');
  expect(await request.end()).toContain('org_suspended');
});
