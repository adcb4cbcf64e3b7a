// Links: temporary addresses without a key for one port, or the terminals, of a computer. A link contains the hash of
// the key that created it and has that key's access, so it ends with the key.
import { z } from 'zod';
import { SignedTokens, type Signing } from '../auth/signed-tokens.ts';

const linkTarget = z.object({
  /** Hash of the key's secret, as used for lookup. */
  key: z.string(),
  computer: z.string(),
  /** Null for the terminals. */
  port: z.int().nullable(),
});

export type LinkTokens = SignedTokens<z.infer<typeof linkTarget>>;

export function linkTokens(signing: Signing): LinkTokens {
  return new SignedTokens(signing, 'computer-link', linkTarget);
}
