// Sessions of the console: a browser holds one in a cookie instead of an API key.
import { z } from 'zod';
import { idOf } from './ids.ts';
import { permission } from './permissions.ts';

export const SESSION_HOURS = 12;
export const SIGN_IN_LINK_MINUTES = 10;
/** Each request that is authenticated by the cookie sends the session's `csrf_token` in this header. */
export const CSRF_HEADER = 'x-switchyard-csrf';

export const createSessionRequest = z
  .strictObject({ token: z.string().max(1024).describe('The token of a sign-in link') })
  .meta({ examples: [{ token: 'eyJpZCI6…' }] });

export const sessionObject = z.object({
  object: z.literal('session').describe('Always session'),
  csrf_token: z.string().describe('Send it as `X-Switchyard-Csrf` with every request of this session'),
  expires_at: z.iso.datetime().describe('When the session ends, unless its key ends sooner'),
  org: z.string().describe('The org of the key'),
  key: z
    .object({
      id: z.string().describe('Id of the key'),
      name: z.string().describe('Its name'),
      permissions: z.array(permission).describe('What it may do'),
    })
    .describe('The key that the session acts as'),
});
export type SessionObject = z.infer<typeof sessionObject>;

export const signInLink = z.object({
  object: z.literal('session.sign_in_link').describe('Always session.sign_in_link'),
  url: z.string().describe('Signs a browser in with your key, once'),
  expires_at: z.iso.datetime().describe('Its expiry'),
});
export type SignInLink = z.infer<typeof signInLink>;

export const endedSession = z.object({
  object: z.literal('session').describe('Always session'),
  deleted: z.literal(true).describe('Always true'),
});

/** KV bucket `spent-tokens`: id of a token that may not be used any more. Written by edges. */
export const spentToken = z.object({ at: z.iso.datetime(), org: idOf('org') });
export type SpentToken = z.infer<typeof spentToken>;
