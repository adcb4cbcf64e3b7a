// Addresses of videos that need no key: each gives access to one video for an hour.
import { z } from 'zod';
import { SignedTokens, type Signing } from '../auth/signed-tokens.ts';

const signedVideo = z.object({ org: z.string(), id: z.string() });
export type SignedVideo = z.infer<typeof signedVideo>;

export type VideoTokens = SignedTokens<SignedVideo>;

export function videoTokens(signing: Signing): VideoTokens {
  return new SignedTokens(signing, 'video-content', signedVideo);
}
