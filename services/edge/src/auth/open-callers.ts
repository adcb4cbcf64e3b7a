// Authentication state: mirrors of keys and orgs, console sessions, and open relays of each key.
import { type Bus, mirrorBucket, openBucket } from '@switchyard/bus';
import type { Clock } from '@switchyard/service';
import { Sessions } from '../session/sessions.ts';
import { SpentTokens } from '../session/spent-tokens.ts';
import { hashAuthenticator } from './authenticate.ts';
import { KeysByHash } from './keys-by-hash.ts';
import { OpenRelays } from './open-relays.ts';

interface CallersDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Signs the sessions. */
  readonly secret: string;
}

/** Resolves when all keys and orgs are in memory. */
export async function openCallers({ bus, clock, secret }: CallersDeps) {
  const now = () => clock.now();
  const keys = await mirrorBucket(bus, await openBucket(bus, 'keys'));
  const orgs = await mirrorBucket(bus, await openBucket(bus, 'orgs'));
  const keysByHash = new KeysByHash(keys);
  const authenticateHash = hashAuthenticator({ keys: keysByHash, orgs, now });
  const open = new OpenRelays(clock, authenticateHash);
  keys.onChange((_key, record, previous) => {
    if (previous) open.changed(previous, record);
  });
  orgs.onChange((org, record) => {
    if (record?.suspended_at) open.suspend(org);
  });
  const bucket = await openBucket(bus, 'spent-tokens');
  const spent = await mirrorBucket(bus, bucket);
  const sessions = new Sessions({
    secret,
    spent: new SpentTokens({ bucket, mirror: spent, now }),
    keys: keysByHash,
    authenticateHash,
    now,
  });
  return {
    keys,
    orgs,
    open,
    sessions,
    authenticateHash,
    close() {
      keys.close();
      orgs.close();
      spent.close();
    },
  };
}
