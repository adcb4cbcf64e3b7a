// Signed addresses of videos and links: valid only unchanged and before they expire, each failure with its own error code.
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { VIDEO_URL_SECONDS } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkTokens } from '../computers/link-tokens.ts';
import { videoTokens } from '../videos/video-tokens.ts';
import { ensureUrlSecret } from './url-secret.ts';

const VIDEO = { org: 'org_a', id: 'vid_1' };
const LIFETIME_MS = VIDEO_URL_SECONDS * 1_000;

describe('a signed token', () => {
  const clock = new FakeClock();
  const signing = { secret: 'a secret of thirty-two characters', now: () => clock.now() };
  const tokens = videoTokens(signing);
  const refusalOf = (token: string) => {
    try {
      tokens.readUrl(token, 'GET /v1/videos/{id}');
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const sign = () => tokens.sign(VIDEO, LIFETIME_MS).token;
  /** The token with other content and the same signature. */
  const changed = (token: string, change: object) => {
    const [payload = '', signature = ''] = token.split('.');
    const content = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    return `${Buffer.from(JSON.stringify({ ...content, ...change })).toString('base64url')}.${signature}`;
  };

  test('gives its content, and is valid only unchanged', () => {
    const token = sign();
    expect(tokens.readUrl(token, '')).toMatchObject(VIDEO);
    expect(changed(token, {})).toBe(token);
    const [payload = '', signature = ''] = token.split('.');
    for (const other of [
      changed(token, { id: 'vid_2' }),
      changed(token, { org: 'org_b' }),
      `${payload}.AAAA`,
      `.${signature}`,
      payload,
      '',
    ])
      expect(refusalOf(other)).toBe('url_not_valid');
  });

  test('of another installation, or of another purpose, is refused', () => {
    const other = videoTokens({ ...signing, secret: 'another secret of the same length.' });
    expect(refusalOf(other.sign(VIDEO, LIFETIME_MS).token)).toBe('url_not_valid');
    const link = linkTokens(signing).sign({ key: 'hash', computer: 'cmp_1', port: null }, LIFETIME_MS);
    expect(refusalOf(link.token)).toBe('url_not_valid');
  });

  test('is valid until it expires, to the second, and cannot be extended', () => {
    const token = sign();
    clock.advance(LIFETIME_MS - 1_000);
    expect(refusalOf(token)).toBeNull();
    expect(tokens.read(token)).toMatchObject(VIDEO);
    clock.advance(1_000);
    expect(refusalOf(token)).toBe('url_expired');
    expect(tokens.read(token)).toBeNull();
    expect(refusalOf(changed(token, { expires: clock.now() + 60_000 }))).toBe('url_not_valid');
  });
});

describe('the secret', () => {
  let nats: TestServer;
  let bus: Bus;
  beforeAll(async () => {
    nats = await startNats();
    bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  });
  afterAll(async () => {
    await bus?.close();
    await nats?.stop();
  });

  test('is created once, however many edges start concurrently', async () => {
    const system = await openBucket(bus, 'system');
    const secrets = await Promise.all(Array.from({ length: 5 }, () => ensureUrlSecret(system, Date.now())));
    expect(new Set(secrets).size).toBe(1);
    expect(await ensureUrlSecret(system, Date.now())).toBe(secrets[0]);
  });
});
