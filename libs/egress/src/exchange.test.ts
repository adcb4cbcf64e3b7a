import { expect, test } from 'vitest';
import { exchange } from './exchange.ts';

/** The kernel refuses a connection to it at once, before the client has the socket. */
const BROADCAST = '255.255.255.255';

test.each(['http', 'https'])(
  'an address that fails at once over %s is an error of the request only',
  async (scheme) => {
    const target = { url: new URL(`${scheme}://nowhere.example/`) };
    const asked = { method: 'GET', headers: {}, body: null };
    const { signal } = new AbortController();
    const answer = exchange(target as Parameters<typeof exchange>[0], asked, {
      ...{ param: 'url', addresses: [BROADCAST], ca: undefined, signal },
    });
    await expect(answer).rejects.toMatchObject({ code: 'url_fetch_failed', details: { reason: 'connect' } });
  },
);
