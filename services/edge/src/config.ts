// Settings of the edge; only this file reads the environment.
import { RATE_LIMIT_MAX } from '@switchyard/contracts';
import { byteBudgetConfig, commonConfig } from '@switchyard/service';
import { z } from 'zod';

/** Characters. */
const URL_SECRET_LENGTH_MIN = 32;

const defaultLimit = z.coerce.number().int().positive().max(RATE_LIMIT_MAX).optional();

export const config = z.object({
  ...commonConfig,
  ...byteBudgetConfig,
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Base URL of addresses in answers. Default: the origin of the request. */
  SWITCHYARD_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Signs addresses that need no key, and sessions; the same for all edges. Default: created once, in the bucket `system`. */
  SWITCHYARD_URL_SECRET: z.string().min(URL_SECRET_LENGTH_MIN).optional(),
  /** `off`: this installation has no Docker engine; computer endpoints answer 503 with the reason. */
  SWITCHYARD_COMPUTERS: z.string().default('on'),
  /** Model calls that are open on this edge at once; others wait, and the orgs take turns. */
  SWITCHYARD_CALLS_MAX: z.coerce.number().int().positive().default(2_048),
  /** Rate limits of every org that has none of its own. Default: none. */
  SWITCHYARD_REQUESTS_PER_MINUTE: defaultLimit,
  SWITCHYARD_TOKENS_PER_MINUTE: defaultLimit,
  SWITCHYARD_CONCURRENT_CALLS: defaultLimit,
  SWITCHYARD_CONCURRENT_COMMANDS: defaultLimit,
});
export type Config = z.infer<typeof config>;
