// Settings of the video-worker. Only this module reads the environment, including the makers' credentials.
import { egressConfig } from '@switchyard/egress';
import { catalogConfig } from '@switchyard/model-router/video';
import { byteBudgetConfig, commonConfig, providersConfig } from '@switchyard/service';
import { z } from 'zod';

/** The inputs of a job are deleted after a day, so a longer limit would be useless. */
const MINUTES_MAX = 1_200;

export const config = z.looseObject({
  ...commonConfig,
  ...catalogConfig,
  ...egressConfig,
  ...providersConfig,
  ...byteBudgetConfig,
  /** Minutes after which an unfinished video job fails; fractions are allowed. */
  SWITCHYARD_VIDEO_MINUTES_MAX: z.coerce.number().positive().max(MINUTES_MAX).default(60),
  /** Maximum size of a result, in bytes. */
  SWITCHYARD_VIDEO_BYTES_MAX: z.coerce
    .number()
    .int()
    .positive()
    .default(512 * 1024 * 1024),
});
export type Config = z.infer<typeof config>;
