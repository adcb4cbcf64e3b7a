// Configuration: one zod schema for each service, read once from the environment; fails on any wrong setting.
import { resolve, sep } from 'node:path';
import { z } from 'zod';

/** Settings of every service. */
export const commonConfig = {
  NATS_URL: z.string().default('nats://127.0.0.1:4222'),
  /** The NATS user of this service; unset: that of NATS_URL, if it names one. */
  NATS_USER: z.string().optional(),
  NATS_PASSWORD: z.string().optional(),
  /** File with the certificate authorities of NATS, PEM. Set: TLS is required. */
  NATS_TLS_CA: z.string().optional(),
  /** Folder for what must survive this instance: outboxes, journals. */
  SWITCHYARD_DATA: z.string().default('.data'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Port of /livez, /readyz and /metrics; 0: any free port; unset: none. */
  HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  HEALTH_HOST: z.string().default('127.0.0.1'),
} as const;

export const commonConfigSchema = z.object(commonConfig);
export type CommonConfig = z.infer<typeof commonConfigSchema>;

/** Thrown before a service has started; its message lists every wrong setting. */
export class ConfigError extends Error {}

/**
 * Reads a config. An empty variable counts as one that is not set.
 * @throws ConfigError naming each setting that is wrong, and why.
 */
export function readConfig<S extends z.ZodType>(
  schema: S,
  environment: Record<string, string | undefined>,
): z.infer<S> {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(set);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`wrong settings in the environment:\n${lines.join('\n')}`);
}

/** Of a path that its operator must change. After other errors, such as a full disk, a restart may help. */
const UNUSABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR']);
/** Of an address that its operator must change. A taken port may be that of a former process, which still drains. */
const FOREIGN_ADDRESS = new Set(['EACCES', 'EADDRNOTAVAIL']);

/** An error of a start as a ConfigError, when a file, a folder or an address of the settings caused it. */
export function wrongSetting(thrown: unknown, config: CommonConfig): unknown {
  const error = thrown as NodeJS.ErrnoException;
  const setting = settingOf(error, config);
  if (setting === null) return thrown;
  return new ConfigError(`wrong settings in the environment:\n  ${setting}: ${error.message}`, {
    cause: thrown,
  });
}

function settingOf({ code, path, syscall }: NodeJS.ErrnoException, config: CommonConfig): string | null {
  if (code === undefined) return null;
  if (syscall === 'listen')
    return FOREIGN_ADDRESS.has(code) ? 'HOST, PORT, HEALTH_HOST or HEALTH_PORT' : null;
  if (path === undefined) return null;
  if (path === config.NATS_TLS_CA) return code === 'ENOENT' || UNUSABLE.has(code) ? 'NATS_TLS_CA' : null;
  const data = resolve(config.SWITCHYARD_DATA);
  const isInData = `${resolve(path)}${sep}`.startsWith(`${data}${sep}`);
  return isInData && UNUSABLE.has(code) ? 'SWITCHYARD_DATA' : null;
}
