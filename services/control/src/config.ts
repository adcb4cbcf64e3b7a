// Settings of control; only this file reads the environment.
import { computerLimitsEnv, KEY_LENGTH_MIN } from '@switchyard/contracts';
import { egressConfig } from '@switchyard/egress';
import { commonConfig, providersConfig } from '@switchyard/service';
import { z } from 'zod';

export const config = computerLimitsEnv.extend({
  ...commonConfig,
  ...egressConfig,
  ...providersConfig,
  /** An API key that has every permission; the launcher creates one. */
  SWITCHYARD_KEY: z.string().min(KEY_LENGTH_MIN, `a key has ${KEY_LENGTH_MIN} characters or more`).optional(),
  /** GB (10^9 bytes) of files that an org may store. */
  SWITCHYARD_STORAGE_GB: z.coerce.number().positive().max(1_000_000).default(10),
  /** `off`: this installation has no computers. */
  SWITCHYARD_COMPUTERS: z.enum(['on', 'off']).default('on'),
  /** Reason for `off`, shown to callers. */
  SWITCHYARD_COMPUTERS_OFF_REASON: z
    .string()
    .default('Computers are switched off here (SWITCHYARD_COMPUTERS=off).'),
});
export type Config = z.infer<typeof config>;
