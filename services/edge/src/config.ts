// Settings of the edge; the sole reader of the environment.
import { byteBudgetConfig, commonConfig } from '@switchyard/service';
import { z } from 'zod';

export const config = z.object({
  ...commonConfig,
  ...byteBudgetConfig,
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** `off`: this installation has no Docker engine; computer endpoints answer 503 and say so. */
  SWITCHYARD_COMPUTERS: z.string().default('on'),
});
export type Config = z.infer<typeof config>;
