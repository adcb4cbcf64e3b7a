// The installation's secret, which signs sessions, links and addresses of videos.
import { randomBytes } from 'node:crypto';
import type { Bucket } from '@switchyard/bus';
import { z } from 'zod';

/** Key of the bucket `system`. */
const SECRET_KEY = 'url-signing-secret';
const SECRET_BYTES = 32;
const secretRecord = z.object({ secret: z.string().min(SECRET_BYTES), created_at: z.iso.datetime() });

/** Returns the installation's secret; the first edge that needs it creates it. */
export async function ensureUrlSecret(system: Bucket<unknown>, now: number): Promise<string> {
  const entry = await system.change(SECRET_KEY, (existing) =>
    existing
      ? null
      : { secret: randomBytes(SECRET_BYTES).toString('base64url'), created_at: new Date(now).toISOString() },
  );
  return secretRecord.parse(entry?.value).secret;
}
