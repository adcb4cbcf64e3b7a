// Settings of the router; the sole reader of the environment, makers' credentials included.
import { commonConfig } from '@switchyard/service';
import { z } from 'zod';

export const config = z.looseObject({
  ...commonConfig,
  /** Further catalog files, separated by commas; a model of a known id replaces the shipped one. */
  SWITCHYARD_CATALOG: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((path) => path.trim())
        .filter((path) => path !== ''),
    ),
  /** Seconds of a whole call, all attempts and waits together: under the ten minutes at which clients give up. */
  SWITCHYARD_CALL_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(570).default(570),
});
export type Config = z.infer<typeof config>;

/** Credentials of upstreams, by the variable that the catalog names. */
export function secretOf(settings: Config, name: string): string | undefined {
  const value = settings[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
