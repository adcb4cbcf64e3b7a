// Fields that all administrative events share: who made the change, by which request, and what changed.
import { z } from 'zod';

/** The API key that made the change, and its org: an operator's key changes other orgs too. */
export const actor = z.object({
  key_id: z.string().describe('Id of the API key'),
  org: z.string().describe('The org of the key'),
});
export type Actor = z.infer<typeof actor>;

/** Field -> its value before and after; null: it had or has none. Never a secret. */
export const changes = z.record(
  z.string(),
  z.object({
    from: z.unknown().describe('Before; null: there was none'),
    to: z.unknown().describe('After; null: there is none any more'),
  }),
);
export type Changes = z.infer<typeof changes>;

export const administered = z.object({
  /** Null: the installation itself did it. */
  actor: actor.nullable(),
  /** X-Request-Id of the request that made the change; null: there was none. */
  request_id: z.string().nullable(),
  changes,
});
export type Administered = z.infer<typeof administered>;
