// Settings of the video-worker; the sole reader of the environment, makers' credentials included.
import { egressConfig } from '@switchyard/egress';
import { byteBudgetConfig, commonConfig } from '@switchyard/service';
import { z } from 'zod';

/** Longer than a day would outlive what the job is made from. */
const MINUTES_MAX = 1_200;

export const config = z.looseObject({
  ...commonConfig,
  ...egressConfig,
  ...byteBudgetConfig,
  /** Further catalog files, separated by commas; the same as the router's. */
  SWITCHYARD_CATALOG: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((path) => path.trim())
        .filter((path) => path !== ''),
    ),
  /** Minutes after which a video job that has not ended fails; fractions allowed. */
  SWITCHYARD_VIDEO_MINUTES_MAX: z.coerce.number().positive().max(MINUTES_MAX).default(60),
  /** Bytes of a video that a maker may bring. */
  SWITCHYARD_VIDEO_BYTES_MAX: z.coerce
    .number()
    .int()
    .positive()
    .default(512 * 1024 * 1024),
});
export type Config = z.infer<typeof config>;

/** Credentials of upstreams, by the variable that the catalog names. */
export function secretOf(settings: Config, name: string): string | undefined {
  const value = settings[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
