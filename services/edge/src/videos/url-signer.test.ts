// Signed addresses of videos: valid only unchanged and before they expire, each failure with its own error code.
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { VIDEO_URL_SECONDS } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureUrlSecret, type SignedQuery, UrlSigner } from './url-signer.ts';

const VIDEO = { org: 'org_a', id: 'vid_1' };
const queryOf = (path: string): SignedQuery =>
  Object.fromEntries(new URL(path, 'http://edge').searchParams) as SignedQuery;

describe('a signed address', () => {
  const clock = new FakeClock();
  const signer = new UrlSigner('a secret of thirty-two characters', () => clock.now());
  const refusalOf = (query: SignedQuery, id = VIDEO.id, by = signer) => {
    try {
      by.verify(id, query);
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test('leads to its video only', () => {
    const path = signer.contentPath(VIDEO);
    expect(path).toMatch(/^\/v1\/videos\/vid_1\/content\?/);
    expect(signer.verify(VIDEO.id, queryOf(path))).toEqual(VIDEO);
    expect(refusalOf(queryOf(path), 'vid_2')).toBe('url_not_valid');
    expect(refusalOf({ ...queryOf(path), org: 'org_b' })).toBe('url_not_valid');
    expect(refusalOf({ ...queryOf(path), signature: 'AAAA' })).toBe('url_not_valid');
    expect(refusalOf({})).toBe('url_not_valid');
  });

  test('of another installation is refused', () => {
    const other = new UrlSigner('another secret of the same length.', () => clock.now());
    expect(refusalOf(queryOf(other.contentPath(VIDEO)))).toBe('url_not_valid');
  });

  test('is valid for an hour, to the second, and cannot be extended', () => {
    const query = queryOf(signer.contentPath(VIDEO));
    clock.advance((VIDEO_URL_SECONDS - 1) * 1000);
    expect(refusalOf(query)).toBeNull();
    clock.advance(1000);
    expect(refusalOf(query)).toBe('url_expired');
    expect(refusalOf({ ...query, expires: String(Number(query.expires) + 60) })).toBe('url_not_valid');
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
