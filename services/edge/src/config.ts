// Settings of the edge; only this file reads the environment.
import { byteBudgetConfig, commonConfig } from '@switchyard/service';
import { z } from 'zod';

/** Characters. */
const URL_SECRET_LENGTH_MIN = 32;

export const config = z.object({
  ...commonConfig,
  ...byteBudgetConfig,
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Base URL of addresses in answers. Default: the origin of the request. */
  SWITCHYARD_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Signs addresses that need no key; the same for all edges. Default: created once, in the bucket `system`. */
  SWITCHYARD_URL_SECRET: z.string().min(URL_SECRET_LENGTH_MIN).optional(),
  /** `off`: this installation has no Docker engine; computer endpoints answer 503 with the reason. */
  SWITCHYARD_COMPUTERS: z.string().default('on'),
});
export type Config = z.infer<typeof config>;
