// The setting that every service with an egress shares; spread it into the service's own config.
import { z } from 'zod';
import { parseAllowList } from './allow-list.ts';

export const egressConfig = {
  /** Networks and `host:port`, separated by commas, that callers' URLs may reach besides public ones. */
  SWITCHYARD_EGRESS_ALLOW: z
    .string()
    .default('')
    .transform((text, context) => {
      try {
        return parseAllowList(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message });
        return z.NEVER;
      }
    }),
} as const;
