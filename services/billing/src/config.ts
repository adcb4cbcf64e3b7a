// Settings of billing. Only runService reads them.
import { commonConfig } from '@switchyard/service';
import { z } from 'zod';

export const configSchema = z.object({
  ...commonConfig,
  /** URL of the database of the ledger. The path names the database; default: `switchyard`. */
  MONGODB_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\//, 'must begin with mongodb:// or mongodb+srv://')
    .default('mongodb://127.0.0.1:27017'),
  /** The user of the database; unset: that of MONGODB_URL, if it names one. */
  MONGODB_USER: z.string().optional(),
  MONGODB_PASSWORD: z.string().optional(),
  /** Days that logs are kept; 0: for ever. The ledger is always kept for ever. */
  SWITCHYARD_LOG_DAYS: z.coerce.number().int().min(0).max(36_500).default(90),
  /** Seconds between two checks of the books (src/audit/watch.ts); 0: none. */
  SWITCHYARD_AUDIT_SECONDS: z.coerce.number().min(0).max(86_400).default(30),
});
export type Config = z.infer<typeof configSchema>;
