// Settings of control; the sole reader of the environment.
import { computerLimitsEnv, KEY_LENGTH_MIN } from '@switchyard/contracts';
import { egressConfig } from '@switchyard/egress';
import { commonConfig } from '@switchyard/service';
import { z } from 'zod';

export const config = computerLimitsEnv.extend({
  ...commonConfig,
  ...egressConfig,
  /** A key that is accepted with every permission; the launcher makes one. */
  SWITCHYARD_KEY: z.string().min(KEY_LENGTH_MIN, `a key has ${KEY_LENGTH_MIN} characters or more`).optional(),
  /** GB (10^9 bytes) of stored files that an org may have. */
  SWITCHYARD_STORAGE_GB: z.coerce.number().positive().max(1_000_000).default(10),
  /** `off`: this installation has no computers, and says so. */
  SWITCHYARD_COMPUTERS: z.enum(['on', 'off']).default('on'),
  /** Why, for the caller's eyes. */
  SWITCHYARD_COMPUTERS_OFF_REASON: z
    .string()
    .default('computers are switched off here (SWITCHYARD_COMPUTERS=off)'),
});
export type Config = z.infer<typeof config>;
